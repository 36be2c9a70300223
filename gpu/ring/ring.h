/* The ring moves data among the leaders of a communicator's hosts. Each leader sends to the next
 * leader and receives from the previous one at the same time. A flow is one transfer through the
 * ring. It has a list of parts to send and a list of parts to receive. A part is sent as soon as
 * its data has arrived. */
#ifndef GW_GPU_RING_H
#define GW_GPU_RING_H

#include "gpu/ring/ring_link.h"

enum { GW_RING_HOSTS_MAX = GW_COMM_HOST_RANKS_MAX };

struct gw_ring {
    int hosts; /* number of hosts, at least 2 */
    int place; /* number of this host in the ring */
    struct gw_transport *next, *prev;
    char *stage;        /* received data that is not reduced yet */
    uint64_t spin_ns;   /* time to poll before the thread sleeps */
    _Atomic int closed; /* a rank that has closed, or -1; set by the watch */
};

/* A part of a flow: its memory, and how received data is combined with it. */
struct gw_ring_part {
    void *data;
    size_t bytes;    /* a multiple of the element size */
    bool reduces;    /* true: data = received . data; false: received data overwrites it */
    bool is_average; /* true: this is the last reduction of this part of the buffer, so divide the
                        result by flow->divisor */
};

struct gw_ring_flow {
    const struct gw_ring_part *out, *in;
    size_t outs, ins;
    size_t head_bytes;  /* size of in[0], which is compared with out[0]; 0: there is no head */
    size_t ahead_bytes; /* the first bytes of `out`, which can be sent at once; the bytes after them
                           must be received first */
    enum gw_dtype dtype;
    enum gw_reduce reduce;
    int divisor;
};

/* gw_ring_init allocates memory. It returns 0 or GW_ENOMEM. gw_ring_deinit frees the memory and the
 * links. */
int gw_ring_init(struct gw_ring *ring);
void gw_ring_deinit(struct gw_ring *ring);

/* gw_ring_run moves all data of a flow and returns 0. Returns GW_EMISMATCH if the head of the
 * previous host differs (that head is in in[0]), and GW_ECLOSED if a neighbour closed the
 * connection or the ring waits for a rank that has closed. It also returns the errors of
 * ring_link.h. After an error the received data is unspecified. */
int gw_ring_run(struct gw_ring *ring, const struct gw_ring_flow *flow,
                const struct gw_ring_wait *wait, struct gw_error *error);

#endif
