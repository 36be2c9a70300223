/* Running a command on the cluster: what `submit` and `dispatch` share. */
#ifndef GW_CLI_LAUNCH_H
#define GW_CLI_LAUNCH_H

#include <stdbool.h>

/* gw_launch_main is both subcommands; gang: dispatch. Gives the exit code. */
int gw_launch_main(bool gang, int argc, char **argv);

#endif
