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

#endif
