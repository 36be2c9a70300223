/* A loop with a journal on it, folders of its own, and files as bytes. */
#ifndef GW_TESTS_JOURNAL_WORLD_H
#define GW_TESTS_JOURNAL_WORLD_H

#include "scheduler/store/journal.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct seen {
    uint64_t last;
    int calls, failed, full, roomy;
    char text[GW_ERROR_TEXT_MAX];
};

/* A loop with a journal on it, in a folder or (NULL) in memory. */
struct world {
    uv_loop_t loop;
    struct gw_journal *journal;
    struct seen seen;
    struct gw_buffer facts;
    struct gw_error error;
};

int world_open(struct world *world, const char *dir);
void world_close(struct world *world);
void append(struct world *world, uint64_t number, const char *text);

/* make_dir makes a folder for a test, remove_dir removes a folder with its content. */
char *make_dir(char dir[PATH_MAX]);
void remove_dir(const char *dir);
void path_in(const char *dir, const char *name, char path[PATH_MAX]);
bool there_is(const char *dir, const char *name);

/* read_file returns a file's bytes (owned by the caller; NULL and 0: there is none). */
size_t read_file(const char *path, uint8_t **bytes);
void write_file(const char *path, const uint8_t *bytes, size_t size);

#endif
