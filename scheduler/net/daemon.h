/* The scheduler process `gangway scheduler`, which `gangway up`, clients and service managers
 * start. */
#ifndef GW_SCHEDULER_NET_DAEMON_H
#define GW_SCHEDULER_NET_DAEMON_H

#include <stddef.h>

/* gw_daemon_main runs a scheduler until the scheduler ends. It returns the exit code. Options:
 *   --dir DIR          folder of the cluster: scheduler.sock, logs, programs (made, mode 0700)
 *   --default          DIR is the user's default folder: the socket is in the user's runtime
 * folder, and DIR has a link to it
 *   --workers K        start K workers on this machine, and restart those that die (default 0)
 *   --peers HOST       host by which these workers reach each other over TLS (default: no TLS)
 *   --slots N          total slots of these workers (default: the number of cores)
 *   --private          cluster of one client: DIR is removed at the end
 *   --lifeline FD      end when FD reads end-of-file
 *   --ready-fd FD      write "ready\n" to FD when all workers have registered, then close it
 *   --scatter-memory BYTES  limit of scattered values (default: half of the usable memory)
 *   --orphan-timeout MS  how long tasks outlive the scheduler (default: that of the workers; 0:
 *                      not at all)
 *   --log-max BYTES    size at which the logs of the scheduler and of each worker begin anew
 *                      (default: GW_LOG_BYTES_MAX)
 *   --history N        ended jobs in the history (default: GW_HISTORY_JOBS_MAX)
 *   --audit FILE       the audit log (default: DIR/audit.jsonl, none if --private; none: none)
 *   --audit-max BYTES  size at which the audit log begins anew (default: GW_AUDIT_BYTES_MAX)
 *   --idle-stop SECONDS  end after this time without clients and unfinished jobs (default: never)
 */
int gw_daemon_main(int argc, char **argv);

struct gw_cluster_policy;
struct gw_error;

/* Reads the configuration file. *policy (NULL: none) stays valid until the next call. `restart`
 * becomes a list of the changed options that need a restart, or "". */
typedef int (*gw_daemon_read)(void *arg, const struct gw_cluster_policy **policy, char *restart,
                              size_t bytes, struct gw_error *error);

/* gw_daemon_configure makes the scheduler of this process follow the policy of a configuration
 * file, which `read` reads at the start and after each SIGHUP. If a file is refused, the scheduler
 * logs why and goes on with the policy that it had. Call it before gw_daemon_main. */
void gw_daemon_configure(gw_daemon_read read, void *arg);

#endif
