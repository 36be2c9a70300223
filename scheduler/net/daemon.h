/* The scheduler process `gangway scheduler`, which `gangway up`, clients and service managers
 * start. */
#ifndef GW_SCHEDULER_NET_DAEMON_H
#define GW_SCHEDULER_NET_DAEMON_H

#include <stdint.h>

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

/* The part of a configuration file that counts while the scheduler runs. */
struct gw_daemon_config {
    const struct gw_cluster_policy *policy; /* NULL: none; valid until the file is read again */
    /* As the options of the same names; 0: the default */
    uint64_t idle_stop_s, log_max_bytes, history_jobs, pure_bytes_max, scatter_memory_bytes;
    uint64_t audit_bytes_max, accounting_retention_ns;
    char restart[256]; /* the changed options that need a restart, "listen, state"; "": none */
};

/* Reads the configuration file. */
typedef int (*gw_daemon_read)(void *arg, struct gw_daemon_config *config, struct gw_error *error);

/* gw_daemon_configure makes the scheduler of this process follow a configuration file, which `read`
 * reads at the start, after each SIGHUP, and if an admin asks for it. If a file is refused, the
 * scheduler logs why and goes on with what it had. Call it before gw_daemon_main. */
void gw_daemon_configure(gw_daemon_read read, void *arg);

#endif
