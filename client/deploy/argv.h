/* Builds the command line with which a daemon is started. */
#ifndef GW_CLIENT_ARGV_H
#define GW_CLIENT_ARGV_H

#include <stdint.h>

enum { GW_ARGV_MAX = 64, GW_ARGV_NUMBERS_MAX = 16, GW_ARGV_NUMBER_BYTES = 24 };

/* A list of words, always followed by NULL. Initialise it with {0}. The words are borrowed. The
 * struct contains the text of numbers, so it must not be copied. To add more words or numbers than
 * fit is an error of the caller (assert). */
struct gw_argv {
    const char *words[GW_ARGV_MAX];
    int count, number_count;
    char numbers[GW_ARGV_NUMBERS_MAX][GW_ARGV_NUMBER_BYTES];
};

/* gw_argv_add appends a word. */
void gw_argv_add(struct gw_argv *argv, const char *word);

/* gw_argv_add_text appends an option and its value. It appends nothing if the value is NULL or
 * empty. */
void gw_argv_add_text(struct gw_argv *argv, const char *option, const char *value);

/* gw_argv_add_number appends an option and a number, also if the number is 0. */
void gw_argv_add_number(struct gw_argv *argv, const char *option, uint64_t number);

#endif
