/* The command line of the scheduler. */
#ifndef GW_SCHEDULER_NET_DAEMON_ARGUMENTS_H
#define GW_SCHEDULER_NET_DAEMON_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* The values of the options. Texts are borrowed from the command line. */
struct gw_daemon_arguments {
    const char *dir, *state, *memory, *spill_dir;
    const char *listen, *tokens; /* listen NULL: no TCP; tokens NULL: the default token file */
    const char *peers;           /* for all workers; NULL: none */
    const char *resources;       /* of the first worker; NULL: none */
    const char *accounting;      /* "none": none; NULL: a file in the state folder */
    const char *audit;           /* "none": no audit log; NULL: audit.jsonl in dir */
    uint32_t workers, slots;
    uint64_t orphan_ms; /* --orphan-timeout of the workers; UINT64_MAX: their default */
    uint64_t idle_stop_s, pure_bytes_max, file_cache_bytes, retained_bytes_max, transfer_bytes_max;
    uint64_t scatter_memory_bytes, log_max_bytes, history_jobs, accounting_retention_ns;
    uint64_t audit_bytes_max;
    int lifeline_fd, ready_fd; /* negative: none */
    bool private_cluster, trust_users, accept_loss;
    bool is_default; /* DIR is the user's default: its socket is in another folder */
};

/* gw_daemon_arguments_parse reads a command line into `given`, which is initialised with defaults.
 * Returns 0, or prints what is wrong and returns GW_EINVAL. */
int gw_daemon_arguments_parse(struct gw_daemon_arguments *given, int argc, char **argv);

#endif
