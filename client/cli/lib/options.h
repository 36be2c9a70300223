/* Options of subcommands, from one table that is also their help. */
#ifndef GW_CLI_OPTIONS_H
#define GW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_synonym;

enum gw_option_kind {
    GW_OPTION_FLAG,     /* bool */
    GW_OPTION_TEXT,     /* const char *, borrowed from argv */
    GW_OPTION_LIST,     /* the same, of names with commas between: it may be given once only */
    GW_OPTION_TEXTS,    /* struct gw_option_texts: may be given many times */
    GW_OPTION_U32,      /* uint32_t */
    GW_OPTION_COUNT,    /* uint32_t of 1 or more, for 0 is not said in it */
    GW_OPTION_BUDGET,   /* the same of 0 or more: 0 typed is UINT32_MAX, none */
    GW_OPTION_I32,      /* int32_t */
    GW_OPTION_DURATION, /* uint64_t of nanoseconds: 90, 1h30m, 500ms */
    GW_OPTION_DELAY,    /* the same, where 0 is not said: 0 typed is 1, at once */
    GW_OPTION_PATIENCE, /* the same: 0 typed is UINT64_MAX, for ever */
    GW_OPTION_SIZE,     /* uint64_t of bytes: 100, 64M, 1.5G */
    GW_OPTION_ROOM,     /* the same, where 0 is not said: 0 typed is 1, too little for anything */
    GW_OPTION_ROWS,     /* no option: the rows of another table stand here (GW_OPTION_TABLE) */
};

struct gw_option_texts {
    const char **items; /* NULL-terminated; to be freed with free(); NULL: none */
    size_t count;
};

struct gw_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* or 0 */
    enum gw_option_kind kind;
    void *into;
    const char *argument; /* how the help calls its argument; NULL for flags */
    const char *help;
};

/* A row for all rows of another table, up to the one that ends it. */
#define GW_OPTION_TABLE(rows)                                                                      \
    {                                                                                              \
        .name = "", .kind = GW_OPTION_ROWS, .into = (rows)                                         \
    }

struct gw_options {
    const char *command;   /* "dispatch" */
    const char *arguments; /* "-- COMMAND [ARGUMENT...]"; "" where there are none */
    const char *summary;   /* one line */
    const char *details;   /* more lines, or NULL */
    const struct gw_option *table;
    int arguments_min, arguments_max;
    bool command_line;                 /* what follows the first argument is not ours to read */
    const struct gw_synonym *synonyms; /* what other tools call its options; or NULL */
};

/* gw_options_connect_timeout_ns is what --connect-timeout said; 0: nothing. */
uint64_t gw_options_connect_timeout_ns(void);

/* gw_options_parse reads argv (argv[0] is the command) and changes the order of its words. True: go
 * on, the arguments are argv[*first] to argv[argc - 1]; argv[argc] stays NULL. False: exit with
 * *exit_code (after --help, or a mistake that was printed). Names of options are never abbreviated.
 */
bool gw_options_parse(const struct gw_options *options, int argc, char **argv, int *first,
                      int *exit_code);

/* gw_options_show_by has --help call `show` from now on, in place of what prints it plainly. The
 * table that it gets has no GW_OPTION_ROWS. */
void gw_options_show_by(void (*show)(const struct gw_options *options));

/* gw_options_nearest gives the candidate that a mistyped word probably means, or NULL. `next`
 * yields candidates until NULL. */
const char *gw_options_nearest(const char *word, const char *(*next)(void *arg, size_t i),
                               void *arg);

#endif
