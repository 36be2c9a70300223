/* `gangway worker`: this machine runs tasks for a scheduler, on this machine or on another one. */
#ifndef GW_CLI_WORKER_DAEMON_H
#define GW_CLI_WORKER_DAEMON_H

#include "client/cli/lib/options.h"

/* gw_worker_daemon_run parses the options (argv[0] is "worker") and runs the worker until it is
 * asked to end. `verbs` are listed in the help. Returns the exit code. */
int gw_worker_daemon_run(int argc, char **argv, const struct gw_cli_command *verbs);

/* gw_worker_daemon_config checks a configuration file's values for workers, and appends them to
 * `rows`, as gw_options_values does. Returns the exit code. */
int gw_worker_daemon_config(const char *path, struct gw_value *rows);

#endif
