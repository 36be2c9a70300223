/* The ring: how data flows among the leaders of a communicator's hosts. Each sends to the next one
 * and receives from the one before, both at once: a flow is two lists of parts, and what goes out
 * follows what came in as closely as the sockets allow. */
#ifndef GW_GPU_RING_H
#define GW_GPU_RING_H

#include "gpu/ring/ring_link.h"

enum { GW_RING_HOSTS_MAX = GW_COMM_HOST_RANKS_MAX };

struct gw_ring {
    int hosts; /* at least 2 */
    int place; /* of this host */
    struct gw_transport *next, *prev;
    char *stage;        /* what came in and is to be reduced */
    uint64_t spin_ns;   /* before it sleeps */
    _Atomic int closed; /* a rank that has closed, or -1; written by the watch */
};

/* A piece of a flow: where it lies, and what is done with what comes in. */
struct gw_ring_part {
    void *data;
    size_t bytes;    /* whole elements */
    bool reduces;    /* data = what came in . data; else it is overwritten */
    bool is_average; /* it is the last reduction of this part: divide by flow->divisor */
};

struct gw_ring_flow {
    const struct gw_ring_part *out, *in;
    size_t outs, ins;
    size_t head_bytes;  /* of in[0], which is compared with out[0]; 0: there is no head */
    size_t ahead_bytes; /* of `out` that wait for nothing; what follows came in before */
    enum gw_dtype dtype;
    enum gw_reduce reduce;
    int divisor;
};

/* gw_ring_init gets memory: 0 or GW_ENOMEM. gw_ring_deinit frees it, and the links. */
int gw_ring_init(struct gw_ring *ring);
void gw_ring_deinit(struct gw_ring *ring);

/* gw_ring_run moves everything. 0; GW_EMISMATCH: the head of the host before differs, it stands at
 * in[0]; GW_ECLOSED: a neighbour is gone, or a closed rank keeps the ring waiting; else as the
 * functions of ring_link.h. What came in by then is unspecified. */
int gw_ring_run(struct gw_ring *ring, const struct gw_ring_flow *flow,
                const struct gw_ring_wait *wait, struct gw_error *error);

#endif
