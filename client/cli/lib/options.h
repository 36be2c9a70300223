/* Options of subcommands, from one table that also contains their help.
 */
#ifndef GW_CLI_OPTIONS_H
#define GW_CLI_OPTIONS_H

#include "client/cli/lib/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gw_config_file;
struct gw_error;
struct gw_synonym;
struct gw_value;

/* A subcommand of `gangway`, or a verb of one. Tables of them end with a NULL name. */
struct gw_cli_command {
    const char *name;
    const char *summary; /* one line; NULL: an internal command (a daemon), not shown in the help */
    int (*run)(int argc,
               char **argv); /* argv[0] is the name of the command; returns the exit code */
};

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
    const char *group; /* the group of the configuration file with values of its options
                          (config_file.h), for a command that has --config; or NULL */
    const char *const *not_in_file; /* options that the group does not have; ends with NULL */
    bool names_only;                /* only checks the names of options, and stores no value */
};

/* gw_options_connect_timeout_ns returns the value of --connect-timeout, or 0 if it was not given.
 */
uint64_t gw_options_connect_timeout_ns(void);

/* gw_options_parse parses argv (argv[0] is the command) and reorders its words. If it returns true,
 * the arguments are argv[*first] to argv[argc - 1], and argv[argc] is NULL. If it returns false,
 * exit with *exit_code: --help was printed, or an error. Option names must not be abbreviated. */
bool gw_options_parse(const struct gw_options *options, int argc, char **argv, int *first,
                      int *exit_code);

/* gw_options_refuse prints an error about the value of an option, which gw_options_parse has not
 * found. The error's text begins with "--NAME". If the value is from the configuration file, its
 * file and line are printed, too. Returns the exit code. */
int gw_options_refuse(const char *command, const struct gw_error *error);

/* gw_options_file returns the configuration file that the last gw_options_parse has read, or NULL.
 * It stays open until the next gw_options_parse. */
struct gw_config_file *gw_options_file(void);

/* gw_options_reread reads the configuration file of the last gw_options_parse again and checks it.
 * The options get its values, which are borrowed from *file; the caller closes it. Options
 * that neither the file nor the command line has are 0 (and not, for example, GW_UNITS_NONE).
 * Errors: as gw_config_file_open. gw_options_changed lists the options, except those in the list
 * `live`, whose values in the file differ from those that gw_options_parse has read, like "listen,
 * state". */
int gw_options_reread(struct gw_config_file **file, struct gw_error *error);
void gw_options_changed(const char *const *live, struct gw_config_file *file, char *names,
                        size_t bytes);

/* gw_options_values appends a dict for each option of the last gw_options_parse to the list `rows`:
 * `group`, `option`, `value` (nil if neither the command line nor
 * the file has one) and `from`. It returns 0
 * or GW_ENOMEM. */
int gw_options_values(struct gw_value *rows);

/* gw_options_print_verbs prints the section "Commands:" of the help of a command. */
void gw_options_print_verbs(FILE *out, const char *command, const struct gw_cli_command *verbs);

/* gw_options_show_by makes --help call `show` in place of the plain help. The table that `show`
 * gets has no GW_OPTION_ROWS. */
void gw_options_show_by(void (*show)(const struct gw_options *options));

#endif
