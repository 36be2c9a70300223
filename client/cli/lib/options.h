/* Options of subcommands, from one table that also contains their help.
 *
 * Each limit accepts the word `none`: no limit. The kinds below say what `none` is stored as. */
#ifndef GW_CLI_OPTIONS_H
#define GW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gw_synonym;

/* A subcommand of `gangway`, or a verb of one. Tables of them end with a NULL name. */
struct gw_cli_command {
    const char *name;
    const char *summary; /* one line; NULL: an internal command (a daemon), not shown in the help */
    int (*run)(int argc,
               char **argv); /* argv[0] is the name of the command; returns the exit code */
};

enum gw_option_kind {
    GW_OPTION_FLAG,     /* bool */
    GW_OPTION_TEXT,     /* const char *, borrowed from argv */
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

struct gw_options {
    const char *command;   /* "dispatch" */
    const char *arguments; /* "-- COMMAND [ARGUMENT...]"; "" if the command takes no arguments */
    const char *summary;   /* one line */
    const char *details;   /* more lines, or NULL */
    const struct gw_option *table;
    int arguments_min, arguments_max;
    bool command_line; /* words after the first argument belong to the command that is run, and are
                          not parsed */
    const struct gw_synonym *synonyms;  /* names of its options in other tools; or NULL */
    const struct gw_cli_command *verbs; /* shown in its help: it also has verbs; or NULL */
    bool names_only;                    /* only checks the names of options, and stores no value */
};

/* gw_options_connect_timeout_ns returns the value of --connect-timeout, or 0 if it was not given.
 */
uint64_t gw_options_connect_timeout_ns(void);

/* gw_options_parse parses argv (argv[0] is the command) and reorders its words. If it returns true,
 * the arguments are argv[*first] to argv[argc - 1], and argv[argc] is NULL. If it returns false,
 * exit with *exit_code: --help was printed, or an error. Option names must not be abbreviated. */
bool gw_options_parse(const struct gw_options *options, int argc, char **argv, int *first,
                      int *exit_code);

/* gw_options_print_verbs prints the section "Commands:" of the help of a command. */
void gw_options_print_verbs(FILE *out, const char *command, const struct gw_cli_command *verbs);

/* gw_options_show_by makes --help call `show` in place of the plain help. The table that `show`
 * gets has no GW_OPTION_ROWS. */
void gw_options_show_by(void (*show)(const struct gw_options *options));

/* gw_options_nearest returns the candidate that a mistyped word probably means, or NULL. `next`
 * returns the candidates one by one, then NULL. */
const char *gw_options_nearest(const char *word, const char *(*next)(void *arg, size_t i),
                               void *arg);

#endif
