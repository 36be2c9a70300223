/* Inside of the host backend across hosts: the ranks of one host share a segment and a host
 * communicator (`local`); the first of them, the host's leader, is also in the ring. Every
 * collective is one among local ranks, one among leaders, and one among local ranks again. */
#ifndef GW_GPU_COMM_RING_H
#define GW_GPU_COMM_RING_H

#include "gpu/host/comm_host.h"
#include "gpu/ring/ring.h"
#include "gpu/ring/ring_door.h"
#include "gpu/ring/ring_watch.h"

/* Where a rank is reached. */
struct gw_comm_ring_place {
    char endpoint[GW_ENDPOINT_TEXT_MAX];
};

struct gw_comm_ring {
    struct gw_comm comm;
    struct gw_comm_host *local;
    int first_rank; /* of this host */
    int hosts, place;
    int first[GW_RING_HOSTS_MAX + 1];  /* every host's first rank; then the number of ranks */
    struct gw_comm_ring_place *places; /* [ranks] */
    struct gw_ring_trust trust;
    struct gw_ring_door *door;
    struct gw_transport **to, **from; /* [ranks]: links for messages, made as they are needed */
    struct gw_ring ring;              /* of a leader, like the next one */
    struct gw_ring_watch *watch;

    enum gw_comm_verb verb; /* of the operation in progress */
    uint64_t deadline_ns;
    uint64_t history; /* of alloc and dealloc; equal on all ranks */
    uint64_t splits;  /* children made; equal on all ranks */
    int (*open_hosts)(const struct gw_comm_hosts_options *options, struct gw_comm **comm,
                      struct gw_error *error); /* of parts: gw_comm_open_hosts */
    char *scratch;
    size_t scratch_bytes;
};

/* gw_comm_ring_is_leader: whether this rank is its host's. */
bool gw_comm_ring_is_leader(const struct gw_comm_ring *self);

/* gw_comm_ring_wait says how long the operation in progress may wait. */
struct gw_ring_wait gw_comm_ring_wait(const struct gw_comm_ring *self);

/* gw_comm_ring_failed turns what a function of ring_link.h or ring.h returned into the first cause,
 * which it finds out or decides; `peer` is the rank that it had to do with. */
int gw_comm_ring_failed(struct gw_comm_ring *self, int rc, int peer, struct gw_error *error);

/* gw_comm_ring_await_break waits until somebody says why the communicator is broken, for as long as
 * that may take where a worker dies: that error, or 0 where nobody does. */
int gw_comm_ring_await_break(const struct gw_comm_ring *self, struct gw_error *error);

/* gw_ring_backend_sync returns when every leader has called it with the same call. */
int gw_ring_backend_sync(struct gw_comm_ring *self, const struct gw_segment_call *call,
                         struct gw_error *error);

/* gw_comm_ring_local runs an operation among the ranks of this host. */
int gw_comm_ring_local(struct gw_comm_ring *self, enum gw_comm_verb verb,
                       const struct gw_comm_args *args, struct gw_error *error);

/* gw_comm_ring_pair_send and gw_comm_ring_pair_recv are the operations between two ranks. */
int gw_comm_ring_pair_send(struct gw_comm_ring *self, const struct gw_comm_args *args,
                           struct gw_error *error);
int gw_comm_ring_pair_recv(struct gw_comm_ring *self, const struct gw_comm_args *args,
                           struct gw_error *error);

/* gw_comm_ring_backend is the backend; its ranks are made by gw_comm_open_hosts. */
extern const struct gw_comm_backend gw_comm_ring_backend;

/* gw_comm_ring_free is its close, also of one that was not opened completely. */
void gw_comm_ring_free(struct gw_comm_ring *self);

#endif
