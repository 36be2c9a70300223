/* The worker: one daemon a host. */
#ifndef GW_NET_WORKER_H
#define GW_NET_WORKER_H

/* gw_worker_main is what a scheduler starts as
 *     gangway worker --dir DIR --slots N [--of M] [--private] [--name NAME]
 * It serves the scheduler at DIR/scheduler.sock until that, or a signal, ends it, and returns its
 * exit code. Its supervisor is this same binary, started as `gangway supervisor`. --of: slots
 * of all workers on this host, which share its cores and memory. --private: the cluster ends with
 * its scheduler, and DIR goes with it. --orphan-timeout MS: how long what it runs lives on while no
 * scheduler is there (0: not at all, nor does a worker that a scheduler started). */
int gw_worker_main(int argc, char **argv);

#endif
