/* Functions that all subcommands of the `gangway` binary share. Results go to stdout, progress and
 * errors to stderr. */
#ifndef GW_CLI_CLI_H
#define GW_CLI_CLI_H

#include "client/cli/lib/exit_code.h"
#include "client/cli/lib/message.h"
#include "client/cli/lib/options.h"

#include <gangway/gangway.h>
#include <stdio.h>

/* gw_cli_run_verb runs one verb of a command that has several ("data get"). argv[1] is the verb.
 * `verbs` ends with a NULL name. Returns the exit code. */
int gw_cli_run_verb(const char *command, const struct gw_cli_command *verbs, int argc, char **argv);

/* gw_cli_nearest returns the command that a mistyped word probably means, or NULL. It never returns
 * a command that ends or removes something. */
const char *gw_cli_nearest(const char *word, const struct gw_cli_command *commands);

/* gw_cli_show_verbs_by makes --help of a command with verbs call `show`. */
void gw_cli_show_verbs_by(void (*show)(const char *command, const struct gw_cli_command *verbs));

/* gw_cli_path_error sets *error to "PATH: reason" for an errno. It returns GW_EINVAL if the user
 * has given a wrong path, and GW_EIO otherwise. */
int gw_cli_path_error(const char *path, int why, struct gw_error *error);

/* gw_cli_check_folder returns GW_EINVAL if `path` exists and is not a folder; path may be NULL.
 * gw_cli_check_output also returns GW_EINVAL if the folder cannot be made or written. */
int gw_cli_check_folder(const char *option, const char *path, struct gw_error *error);
int gw_cli_check_output(const char *option, const char *path, struct gw_error *error);

/* gw_cli_make_output makes a folder for results, with all missing parents. Returns 0 or GW_EINVAL.
 */
int gw_cli_make_output(const char *path, struct gw_error *error);

/* gw_cli_error prints "gangway: text" to stderr and returns the exit code. */
int gw_cli_error(const struct gw_error *error);

/* gw_cli_called stores the name of the running subcommand. gw_cli_session_name returns the name of
 * its session at the scheduler, for example "gangway cancel". */
void gw_cli_called(const char *command);
const char *gw_cli_session_name(void);

/* gw_cli_connect does the same as gw_client_open. If stderr is a terminal, it prints after two
 * seconds that it waits for the scheduler. */
int gw_cli_connect(const struct gw_client_options *options, struct gw_client **client,
                   struct gw_error *error);

/* gw_cli_open connects to the running cluster. It returns GW_EXIT_OK, or prints the error and
 * returns the exit code. */
int gw_cli_open(struct gw_client **client);

/* State of a subcommand that uses a client. */
struct gw_cli_verb {
    struct gw_client *client; /* closed by gw_cli_end */
    int first;                /* the arguments start at argv[first] */
    int exit_code;
};

/* gw_cli_begin reads the options and connects to the running cluster. If it returns false, the
 * subcommand exits with verb->exit_code. */
bool gw_cli_begin(const struct gw_options *options, int argc, char **argv,
                  struct gw_cli_verb *verb);

/* gw_cli_end closes the client, prints the error if rc is negative, and returns the exit code. */
int gw_cli_end(struct gw_cli_verb *verb, int rc, const struct gw_error *error);

/* gw_cli_each is a complete subcommand that calls `act` for each argument. If `act` fails for one
 * argument, the error is printed, and the next argument follows. Returns the exit code. */
int gw_cli_each(const struct gw_options *options, int argc, char **argv,
                int (*act)(struct gw_client *client, const char *argument, void *arg,
                           struct gw_error *error),
                void *arg);

/* gw_cli_print_failure prints to stderr how a job ended. For a cancelled job it adds the job
 * number, which the text of a failed task already contains. */
void gw_cli_print_failure(uint64_t job, const struct gw_error *error);

/* gw_cli_print_end prints how a job ended to stdout, as one line of JSON (error->code 0: it
 * succeeded). */
void gw_cli_print_end(uint64_t job, int exit_code, const struct gw_error *error);

#endif
