/* Runs a command while a lease is held: `gangway sync lock`. */
#ifndef GW_CLI_HOLD_H
#define GW_CLI_HOLD_H

#include <gangway/gangway.h>

/* gw_hold_run runs a command with this process's terminal and environment, and returns when it has
 * ended. *exit_code is its exit code, 128 + the number of a signal that ended it, or 126 or 127 if
 * it could not be started. HUP, INT, QUIT, TERM, USR1, USR2 and CONT are forwarded to the command.
 * The command gets SIGTERM if this process dies. An error is returned only if no process could be
 * started. Call it on the main thread; it forks. */
int gw_hold_run(char *const *argv, int *exit_code, struct gw_error *error);

#endif
