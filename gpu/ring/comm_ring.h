/* Internal interface of the host backend across hosts. The ranks of one host share a segment and a
 * host communicator (`local`). The first rank of each host is the host's leader. The leaders are
 * connected in a ring. Every collective consists of one operation among the local ranks, one among
 * the leaders, and one among the local ranks again. */
#ifndef GW_GPU_COMM_RING_H
#define GW_GPU_COMM_RING_H

#include "gpu/host/comm_host.h"
#include "gpu/ring/ring.h"
#include "gpu/ring/ring_door.h"
#include "gpu/ring/ring_watch.h"

/* The address of a rank. */
struct gw_comm_ring_place {
    char endpoint[GW_ENDPOINT_TEXT_MAX];
};

struct gw_comm_ring {
    struct gw_comm comm;
    struct gw_comm_host *local;
    int first_rank; /* the lowest rank of this host */
    int hosts, place;
    int first[GW_RING_HOSTS_MAX + 1];  /* an array with the number of the first rank of each host,
                                          and the total number of ranks as its last entry */
    struct gw_comm_ring_place *places; /* [ranks] */
    struct gw_ring_trust trust;
    struct gw_ring_door *door;
    struct gw_transport **to, **from; /* [ranks]: links for messages, opened when first used */
    struct gw_ring ring;              /* used by leaders only, like watch */
    struct gw_ring_watch *watch;

    enum gw_comm_verb verb; /* the operation in progress */
    uint64_t deadline_ns;
    uint64_t history; /* a digest of alloc and dealloc calls; equal on all ranks */
    uint64_t splits;  /* number of child communicators created; equal on all ranks */
    int (*open_hosts)(const struct gw_comm_hosts_options *options, struct gw_comm **comm,
                      struct gw_error *error); /* opens a part of a split: gw_comm_open_hosts */
    char *scratch;
    size_t scratch_bytes;
};

/* gw_comm_ring_is_leader returns true if this rank is the leader of its host. */
bool gw_comm_ring_is_leader(const struct gw_comm_ring *self);

/* gw_comm_ring_wait returns how long the operation in progress may wait. */
struct gw_ring_wait gw_comm_ring_wait(const struct gw_comm_ring *self);

/* gw_comm_ring_failed handles an error that a function of ring_link.h or ring.h returned. It breaks
 * the communicator and returns the first cause. `peer` is the rank at the other end of the
 * connection. */
int gw_comm_ring_failed(struct gw_comm_ring *self, int rc, int peer, struct gw_error *error);

/* gw_comm_ring_await_break waits until the communicator is broken with a cause from the watch
 * thread or a worker. It waits as long as a worker may need to report the death of a rank. It
 * returns the cause, or 0 if there was no report. */
int gw_comm_ring_await_break(const struct gw_comm_ring *self, struct gw_error *error);

/* gw_ring_backend_sync returns when every leader has called it with the same call. */
int gw_ring_backend_sync(struct gw_comm_ring *self, const struct gw_segment_call *call,
                         struct gw_error *error);

/* gw_comm_ring_local runs an operation among the ranks of this host. */
int gw_comm_ring_local(struct gw_comm_ring *self, enum gw_comm_verb verb,
                       const struct gw_comm_args *args, struct gw_error *error);

/* gw_comm_ring_pair_send and gw_comm_ring_pair_recv implement send and recv. */
int gw_comm_ring_pair_send(struct gw_comm_ring *self, const struct gw_comm_args *args,
                           struct gw_error *error);
int gw_comm_ring_pair_recv(struct gw_comm_ring *self, const struct gw_comm_args *args,
                           struct gw_error *error);

/* gw_comm_ring_backend holds the functions of this backend. gw_comm_open_hosts creates its
 * communicators. */
extern const struct gw_comm_backend gw_comm_ring_backend;

/* gw_comm_ring_free closes a communicator. It also frees one that was opened only partly. */
void gw_comm_ring_free(struct gw_comm_ring *self);

#endif
