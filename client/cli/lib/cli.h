/* What all subcommands of the `gangway` binary share. Results go to stdout, progress and errors to
 * stderr. */
#ifndef GW_CLI_CLI_H
#define GW_CLI_CLI_H

#include "client/cli/lib/exit_code.h"
#include "client/cli/lib/message.h"

#include <gangway/gangway.h>
#include <stdio.h>

struct gw_cli_command {
    const char *name;
    const char *summary;               /* one line; NULL: hidden (a daemon) */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; gives the exit code */
};

/* gw_cli_run_verb runs the verb that argv[1] names of a command with several ("data get"); verbs
 * ends with a NULL name. Gives the exit code. */
int gw_cli_run_verb(const char *command, const struct gw_cli_command *verbs, int argc, char **argv);

/* gw_cli_show_verbs_by has --help of such a command call `show` from now on. */
void gw_cli_show_verbs_by(void (*show)(const char *command, const struct gw_cli_command *verbs));

/* gw_cli_path_error sets "PATH: why" by an errno and gives the code: GW_EINVAL where such a path
 * was not to be typed, else GW_EIO. */
int gw_cli_path_error(const char *path, int why, struct gw_error *error);

/* gw_cli_check_folder refuses (GW_EINVAL) what is there and is no folder; path may be NULL.
 * gw_cli_check_output also refuses a folder that cannot be made, or written into. */
int gw_cli_check_folder(const char *option, const char *path, struct gw_error *error);
int gw_cli_check_output(const char *option, const char *path, struct gw_error *error);

/* gw_cli_make_output makes a folder for results, and the missing folders above it. GW_EINVAL. */
int gw_cli_make_output(const char *path, struct gw_error *error);

/* gw_cli_error prints "gangway: text" to stderr and gives the exit code. */
int gw_cli_error(const struct gw_error *error);

/* gw_cli_called notes which subcommand this is; gw_cli_session_name is then what the scheduler
 * knows its client by: "gangway cancel". */
void gw_cli_called(const char *command);
const char *gw_cli_session_name(void);

/* gw_cli_connect is gw_client_open, and tells who sits at a terminal, after two seconds of silence,
 * what it waits for. */
int gw_cli_connect(const struct gw_client_options *options, struct gw_client **client,
                   struct gw_error *error);

/* gw_cli_open connects to the running cluster; GW_EXIT_OK, or the exit code after printing why. */
int gw_cli_open(struct gw_client **client);

/* What a subcommand with a client begins with. */
struct gw_options;
struct gw_cli_verb {
    struct gw_client *client; /* to be closed */
    int first;                /* its arguments are argv[first] and following */
    int exit_code;
};

/* gw_cli_begin reads the options and connects to the running cluster. False: exit with
 * verb->exit_code. */
bool gw_cli_begin(const struct gw_options *options, int argc, char **argv,
                  struct gw_cli_verb *verb);

/* gw_cli_end closes the client, prints the error where rc is negative, and gives the exit code. */
int gw_cli_end(struct gw_cli_verb *verb, int rc, const struct gw_error *error);

/* gw_cli_each is a subcommand that does `act` with each of its arguments: one that fails is
 * printed, and the next is tried. Gives the exit code. */
int gw_cli_each(const struct gw_options *options, int argc, char **argv,
                int (*act)(struct gw_client *client, const char *argument, void *arg,
                           struct gw_error *error),
                void *arg);

/* gw_cli_print_failure prints to stderr how a job ended; a task's own text names it already. */
void gw_cli_print_failure(uint64_t job, const struct gw_error *error);

/* gw_cli_print_end prints to stdout, as JSON on a line, how it ended (error->code 0: well). */
void gw_cli_print_end(uint64_t job, int exit_code, const struct gw_error *error);

#endif
