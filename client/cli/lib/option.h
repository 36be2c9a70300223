/* One option of a subcommand.
 *
 * Each limit accepts the word `none`: no limit. The kinds below say what `none` is stored as. */
#ifndef GW_CLI_OPTION_H
#define GW_CLI_OPTION_H

#include <stddef.h>

enum gw_option_kind {
    GW_OPTION_FLAG,     /* bool */
    GW_OPTION_TEXT,     /* const char *, borrowed from argv */
    GW_OPTION_FRACTION, /* const char *, borrowed: a number from 0 to 1, or `none` */
    GW_OPTION_WEIGHT,   /* double, from 0 to 1e9 */
    GW_OPTION_LIST,     /* const char *: a list of names with commas; may be given only once */
    GW_OPTION_TEXTS,    /* struct gw_option_texts; may be given several times */
    GW_OPTION_U32,      /* uint32_t */
    GW_OPTION_U64,      /* uint64_t, at most INT64_MAX */
    GW_OPTION_COUNT,    /* uint32_t, at least 1; 0 means that the option was not given */
    GW_OPTION_LIMIT,    /* uint32_t, at least 1; `none`: GW_NONE; 0: not given */
    GW_OPTION_BUDGET,   /* uint32_t; "0" is stored as GW_NONE, because 0 means not given; `none`:
                           GW_UNLIMITED */
    GW_OPTION_LINES,    /* uint32_t; `none`: GW_NONE */
    GW_OPTION_RETRIES,  /* uint32_t; `none`: GW_RETRIES_MAX, the most that the scheduler counts */
    GW_OPTION_I32,      /* int32_t */
    GW_OPTION_DURATION, /* uint64_t of nanoseconds: 90, 1h30m, 500ms; `none`: 0 */
    GW_OPTION_DELAY, /* uint64_t of nanoseconds; "0" is stored as 1 (at once), because 0 means not
                        given; `none`: GW_UNITS_NONE */
    GW_OPTION_SINCE, /* uint64_t: a point in time, in nanoseconds since 1970: 90 (seconds ago), 2h,
                        2026-11-26T09:30:00 (local time; with Z at its end UTC); `none`: 0 */
    GW_OPTION_TIMEOUT,  /* uint64_t of nanoseconds; `none`: UINT64_MAX */
    GW_OPTION_PATIENCE, /* uint64_t of nanoseconds; "0" and `none`: UINT64_MAX */
    GW_OPTION_SIZE,     /* uint64_t of bytes: 100, 64M, 1.5G; `none`: 0 */
    GW_OPTION_CAP,      /* uint64_t of bytes, at least 1; `none`: GW_UNITS_NONE; 0: not given */
    GW_OPTION_ROOM, /* uint64_t of bytes; "0" is stored as 1 (no room), because 0 means not given;
                       `none`: GW_UNITS_NONE */
    GW_OPTION_ROWS, /* not an option: inserts the rows of another table (GW_OPTION_TABLE) */
};

struct gw_option_texts {
    const char **items; /* NULL-terminated; the caller frees the array; NULL: none */
    size_t count;
};

struct gw_option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* or 0 */
    enum gw_option_kind kind;
    void *into;
    const char *argument; /* name of its value in the help; NULL for flags */
    const char *help;
};

/* A row that stands for all rows of another table. */
#define GW_OPTION_TABLE(rows)                                                                      \
    {                                                                                              \
        .name = "", .kind = GW_OPTION_ROWS, .into = (rows)                                         \
    }

#endif
