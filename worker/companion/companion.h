/* The companion: a process beside a rank, which runs a program of the user's choice (`gangway
 * exec`). */
#ifndef GW_COMPANION_COMPANION_H
#define GW_COMPANION_COMPANION_H

/* gw_companion_main is the main function of `gangway companion ROWSxCOLUMNS PROGRAM ARGUMENT...`.
 * It starts the program with a terminal of that size, or with pipes for 0x0. It passes data on
 * between the program and descriptor 3 (graph/wire/console.h), reports how the program ended, and
 * returns. If descriptor 3 is closed first, the program gets SIGHUP. */
int gw_companion_main(int argc, char **argv);

#endif
