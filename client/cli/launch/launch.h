/* Runs a command on the cluster: the subcommands `submit` and `dispatch`. */
#ifndef GW_CLI_LAUNCH_H
#define GW_CLI_LAUNCH_H

#include <stdbool.h>

/* gw_launch_main is both subcommands. `gang` is true for `dispatch`. Returns the exit code. */
int gw_launch_main(bool gang, int argc, char **argv);

#endif
