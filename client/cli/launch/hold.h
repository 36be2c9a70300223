/* A command that runs while something is held: `gangway sync lock`. */
#ifndef GW_CLI_HOLD_H
#define GW_CLI_HOLD_H

#include <gangway/gangway.h>

/* gw_hold_run runs a command with this terminal and environment and returns when it has ended, or
 * could not start, with its exit code: its own, 128 + the signal that ended it, 126 or 127. HUP,
 * INT, QUIT, TERM, USR1, USR2 and CONT go on to it. It gets SIGTERM where this process dies. An
 * error only where nothing could be started. Call it on the main thread; it forks. */
int gw_hold_run(char *const *argv, int *exit_code, struct gw_error *error);

#endif
