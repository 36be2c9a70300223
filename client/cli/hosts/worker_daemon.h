/* `gangway worker --connect`: this machine works for a scheduler on another one. */
#ifndef GW_CLI_WORKER_DAEMON_H
#define GW_CLI_WORKER_DAEMON_H

/* gw_worker_daemon_run reads the options (argv[0] is "worker") and is that worker until it is told
 * to end; with --help it prints what there is. Gives the exit code. */
int gw_worker_daemon_run(int argc, char **argv);

#endif
