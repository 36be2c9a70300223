/* Clusters that this process starts: the `gangway` binary as a scheduler with its workers. */
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
    uint32_t slots;        /* in all, split among the workers; 0: the cores of this machine */
    uint32_t workers;      /* 0: 1 */
    bool no_workers;       /* none on this machine */
    const char *peers;     /* HOST where its workers reach each other by TLS; NULL: descriptors */
    const char *resources; /* what its first worker offers by name, "license=1"; NULL: none */
    struct gw_memory_lines memory; /* of the workers; see gw_memory_lines_init */
    const char *spill_dir;         /* absolute, borrowed; NULL: the worker's choice */
    const char *listen;            /* HOST:PORT for other machines, by TLS; NULL: none */
    const char *tokens;            /* the token file, absolute; NULL: the usual one */
    bool accept_loss;              /* of a state that is damaged; see --accept-loss */
    const char *state;             /* folder of what outlives it; NULL: in the cluster's own */
    uint64_t idle_stop_s;          /* of a shared cluster; 0: never */
    uint64_t file_cache_bytes;     /* shipped files that are kept; 0: the default */
    uint64_t keep_files_bytes;     /* what commands with files left, a worker; 0: the default */
    uint64_t transfer_bytes_max;   /* of checkpoints that are carried; 0: the default */
    uint64_t log_max_bytes;        /* of a daemon's log, and of the one before; 0: the default */
    uint64_t pure_keep_bytes;      /* results of pure tasks that nobody needs now; 0: the default */
    uint64_t scatter_memory_bytes; /* of values that clients scatter; 0: the default */
    bool orphan_given;
    uint64_t orphan_ms; /* how long what runs outlives the scheduler, where that is given */
    const volatile sig_atomic_t *interrupted; /* once it is set the start is given up
                                                 (GW_ECANCELLED): by a handler that has system
                                                 calls end; NULL: nobody sets it */
};

/* gw_cluster_find_binary gives the path of the `gangway` binary: $GANGWAY_BINARY, beside
 * libgangway or this executable, in ../bin of those, or on PATH. GW_ENOSCHEDULER with the places.
 */
int gw_cluster_find_binary(char path[PATH_MAX], struct gw_error *error);

/* gw_cluster_open starts a private cluster: it ends with this process, however that ends, or at
 * gw_cluster_close, which blocks until it is gone (at most 10 s, then it is killed) and leaves no
 * zombie. Blocks for at most 10 s. GW_ENOSCHEDULER with the daemon's last words, GW_EPERM, GW_EIO.
 */
int gw_cluster_open(const struct gw_cluster_options *options, struct gw_cluster **cluster,
                    struct gw_error *error);
void gw_cluster_close(struct gw_cluster *cluster);

/* gw_cluster_check_resources refuses (GW_EINVAL) what is no list of resources. */
int gw_cluster_check_resources(const char *resources, struct gw_error *error);

/* gw_cluster_socket is the path of its scheduler's socket; borrowed. */
const char *gw_cluster_socket(const struct gw_cluster *cluster);

/* gw_cluster_cores is how many cores this process may use. */
uint32_t gw_cluster_cores(void);

/* gw_cluster_grow starts one more worker, with so many slots; it registers a moment later. */
int gw_cluster_grow(struct gw_cluster *cluster, uint32_t slots, struct gw_error *error);

/* gw_cluster_slots is how many slots it was given in all. */
uint32_t gw_cluster_slots(const struct gw_cluster *cluster);

/* gw_cluster_launch starts a scheduler in the folder `dir`, which outlives this process; *pid is
 * its process. Errors as gw_cluster_open. 0: error->text is "", or what lacks. */
int gw_cluster_launch(const char *dir, const struct gw_cluster_options *options, pid_t *pid,
                      struct gw_error *error);

/* gw_cluster_wait_gone blocks until a process has ended; false after timeout_ns. */
bool gw_cluster_wait_gone(pid_t pid, uint64_t timeout_ns);

#endif
