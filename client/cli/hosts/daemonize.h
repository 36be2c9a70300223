/* The worker daemon in the background: what `gangway up --hosts` has ssh run. */
#ifndef GW_CLI_DAEMONIZE_H
#define GW_CLI_DAEMONIZE_H

#include <stdint.h>

/* All borrowed. A worker of this name that lives in `dir` already, with as many slots (0: any), and
 * that the scheduler has again within 10 s, is the one that is wanted; another one is ended. */
struct gw_daemonize_options {
    const char *dir, *name; /* name NULL: none was given */
    uint32_t slots;
};

/* gw_daemonize_run starts the daemon with these arguments (of gw_worker_main), in a session of its
 * own, and returns when the scheduler has it: GW_EXIT_OK. Else it has ended again, the last line
 * that it said is on stderr, and the exit code is GW_EXIT_FAILED: after 20 s too, and when stdin
 * ends, of which the first line is the token. What it says goes to worker.log in `dir`. */
int gw_daemonize_run(int argc, char **argv, const struct gw_daemonize_options *options);

#endif
