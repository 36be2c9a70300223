/* The worker: one daemon per host. */
#ifndef GW_NET_WORKER_H
#define GW_NET_WORKER_H

/* gw_worker_main is the main function of
 *     gangway worker --dir DIR --slots N [--of M] [--private] [--name NAME]
 * It serves the scheduler at DIR/scheduler.sock until the scheduler or a signal ends it, and
 * returns its exit code. Its supervisor is the same binary, started as `gangway supervisor`. --of:
 * slots of all workers on this host, which share its cores and memory. --private: the cluster ends
 * with its scheduler, and DIR is removed. --orphan-timeout MS: how long tasks run on without a
 * scheduler. 0: the worker ends with the scheduler that started it. */
int gw_worker_main(int argc, char **argv);

struct gw_error;

/* Options that a worker has read again: a command line with --dir, and of the others those that may
 * change while the worker runs: --health-*, --log-max and the thresholds in --memory. */
struct gw_worker_config {
    int argc;
    char **argv;       /* valid until the file is read again */
    char restart[256]; /* changed options that need a restart, "slots, name"; "": none */
};

/* Reads the configuration file. */
typedef int (*gw_worker_read)(void *arg, struct gw_worker_config *config, struct gw_error *error);

/* gw_worker_configure makes the worker of this process follow a configuration file, which `read`
 * reads after each SIGHUP. If the file is refused, the worker logs why and goes on with what it
 * had. Call it before gw_worker_main. */
void gw_worker_configure(gw_worker_read read, void *arg);

#endif
