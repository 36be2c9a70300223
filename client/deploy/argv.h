/* The words with which a daemon is started, put together. */
#ifndef GW_CLIENT_ARGV_H
#define GW_CLIENT_ARGV_H

#include <stdint.h>

enum { GW_ARGV_MAX = 64, GW_ARGV_NUMBERS_MAX = 16, GW_ARGV_NUMBER_BYTES = 24 };

/* Begins as {0}, holds no memory of its own but the numbers' text, and must not be copied. The
 * words are borrowed; behind the last is always NULL. More words or numbers than fit are a mistake
 * of the caller's. */
struct gw_argv {
    const char *words[GW_ARGV_MAX];
    int count, number_count;
    char numbers[GW_ARGV_NUMBERS_MAX][GW_ARGV_NUMBER_BYTES];
};

/* gw_argv_add adds a word. */
void gw_argv_add(struct gw_argv *argv, const char *word);

/* gw_argv_add_text adds an option and its value; nothing where that is NULL or empty. */
void gw_argv_add_text(struct gw_argv *argv, const char *option, const char *value);

/* gw_argv_add_number adds an option and its value, 0 as well. */
void gw_argv_add_number(struct gw_argv *argv, const char *option, uint64_t number);

#endif
