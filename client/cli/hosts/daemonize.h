/* The worker daemon in the background, which `gangway up --hosts` starts through ssh. */
#ifndef GW_CLI_DAEMONIZE_H
#define GW_CLI_DAEMONIZE_H

#include <stdint.h>

/* Options of gw_daemonize_run; all pointers are borrowed. If a worker with this name already runs
 * in `dir`, has the given number of slots (0: any), and is registered at the scheduler within 10 s,
 * it is used. Any other worker with this name is ended. */
struct gw_daemonize_options {
    const char *dir, *name; /* name NULL: not given */
    uint32_t slots;
};

/* gw_daemonize_run starts the daemon in a new session, with these arguments of gw_worker_main. The
 * first line of standard input is the token. It returns GW_EXIT_OK when the scheduler has
 * registered the worker. It returns GW_EXIT_FAILED if the daemon ends, if 20 s have passed, or if
 * standard input ends. In these cases the daemon has ended, and the last line of its log is printed
 * to stderr. The log is worker.log in `dir`. */
int gw_daemonize_run(int argc, char **argv, const struct gw_daemonize_options *options);

#endif
