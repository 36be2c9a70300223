/* The companion: a process beside a rank, for a person who looks at it (`gangway exec`). */
#ifndef GW_COMPANION_COMPANION_H
#define GW_COMPANION_COMPANION_H

/* gw_companion_main is `gangway companion ROWSxCOLUMNS PROGRAM ARGUMENT...`: it starts the program
 * with a terminal of that size (0x0: with pipes), passes on what it and the other end of descriptor
 * 3 say (graph/wire/console.h), tells how it ended, and returns. When descriptor 3 closes first,
 * the program gets SIGHUP. */
int gw_companion_main(int argc, char **argv);

#endif
