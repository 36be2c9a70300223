/* Clusters that this process starts: it runs the `gangway` binary as a scheduler, which starts the
 * workers. */
#ifndef GW_CLIENT_CLUSTER_H
#define GW_CLIENT_CLUSTER_H

#include "graph/base/memory_lines.h"

#include <gangway/error.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gw_cluster;

struct gw_cluster_options {
    uint32_t slots;    /* slots of all workers together; 0: the cores of this machine */
    uint32_t workers;  /* 0: 1 */
    bool no_workers;   /* start no workers on this machine */
    const char *peers; /* address of this host through which the workers exchange results by TLS;
                          NULL: they pass file descriptors to each other */
    const char *resources;         /* of the first worker, for example "license=1"; NULL: none */
    struct gw_memory_lines memory; /* memory limits of the workers; see gw_memory_lines_init */
    const char *spill_dir;     /* absolute path of the folder for results on disk; NULL: default */
    const char *listen;        /* HOST:PORT at which other machines connect by TLS; NULL: none */
    const char *tokens;        /* path of the token file, absolute; NULL: the default file */
    bool accept_loss;          /* start even if the saved state is damaged; see --accept-loss */
    const char *state;         /* folder of the state on disk; NULL: in the cluster's folder */
    const char *audit;         /* path of the audit log, absolute; "none"; NULL: the default */
    uint64_t audit_bytes_max;  /* size at which it begins anew; 0: the default */
    uint64_t idle_stop_s;      /* time without work after which a shared cluster ends; 0: never */
    uint64_t file_cache_bytes; /* size of the cache of uploaded files; 0: the default */
    uint64_t retained_bytes_max;   /* most bytes of files of ended commands that each worker stores;
                                    0:   the default */
    uint64_t transfer_bytes_max;   /* largest size of a checkpoint that workers transfer to each
                                      other; 0: the default */
    uint64_t log_max_bytes;        /* largest size of the log of a scheduler or worker, and of the
                                      previous log that is kept; 0: the default */
    uint64_t pure_bytes_max;       /* most bytes of results of pure tasks that are kept although no
                                       future and no task needs them; 0: the default */
    uint64_t scatter_memory_bytes; /* memory for scattered values; 0: the default */
    uint32_t history_jobs;         /* ended jobs that the scheduler lists; 0: the default */
    const char *accounting;        /* file of the accounting; NULL: the default; borrowed */
    uint64_t accounting_retention_ns; /* 0: the default; UINT64_MAX: no limit */
    bool trust_users; /* the workers run tasks of all users, as the user of this process */
    bool orphan_given;
    uint64_t orphan_ms; /* if orphan_given: how long tasks run on without a scheduler */
    const volatile sig_atomic_t
        *interrupted; /* a signal handler sets it to stop the start (GW_ECANCELLED) */
};

/* gw_cluster_find_binary finds the `gangway` binary: $GANGWAY_BINARY, beside libgangway or this
 * executable, in ../bin of those folders, or on PATH. GW_ENOSCHEDULER: not found; the text lists
 * the places. */
int gw_cluster_find_binary(char path[PATH_MAX], struct gw_error *error);

/* gw_cluster_open starts a private cluster. The cluster ends when this process ends in any way, or
 * at gw_cluster_close. gw_cluster_close blocks until the cluster has ended (after 10 s it kills it)
 * and leaves no zombie. gw_cluster_open blocks for at most 10 s. Errors: GW_ENOSCHEDULER, with the
 * end of the daemon's log; GW_EPERM; GW_EIO. */
int gw_cluster_open(const struct gw_cluster_options *options, struct gw_cluster **cluster,
                    struct gw_error *error);
void gw_cluster_close(struct gw_cluster *cluster);

/* gw_cluster_check_resources checks a list of resources. GW_EINVAL: malformed list. */
int gw_cluster_check_resources(const char *resources, struct gw_error *error);

/* gw_cluster_socket returns the path of the scheduler's socket; borrowed. */
const char *gw_cluster_socket(const struct gw_cluster *cluster);

/* gw_cluster_cores returns the number of cores that this process may use. */
uint32_t gw_cluster_cores(void);

/* gw_cluster_grow starts one more worker, with the given number of slots. The worker registers a
 * moment later. */
int gw_cluster_grow(struct gw_cluster *cluster, uint32_t slots, struct gw_error *error);

/* gw_cluster_slots returns the number of slots of all its workers. */
uint32_t gw_cluster_slots(const struct gw_cluster *cluster);

/* gw_cluster_launch starts a scheduler in the folder `dir`. The scheduler outlives this process;
 * *pid is its process id. Errors: as gw_cluster_open. If it returns 0, error->text is "" or a
 * warning. */
int gw_cluster_launch(const char *dir, const struct gw_cluster_options *options, pid_t *pid,
                      struct gw_error *error);

/* gw_cluster_wait_gone blocks until a process has ended. It returns false after timeout_ns. */
bool gw_cluster_wait_gone(pid_t pid, uint64_t timeout_ns);

#endif
