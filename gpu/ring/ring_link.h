/* Connections between the hosts of one communicator: TCP, TLS 1.3 where a key is given.
 *
 * Who connects says who it is (a hello: attempt, number of ranks, its rank, what for) and waits to
 * be let in. Whoever has another key, attempt, byte order or number of ranks is refused, and so is
 * a rank that is connected already; those who wait beside it do not notice. */
#ifndef GW_GPU_RING_LINK_H
#define GW_GPU_RING_LINK_H

#include "gpu/host/segment.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/tls.h"

enum gw_ring_purpose {
    GW_RING_CONTROL = 1, /* a host's leader to rank 0: addresses, causes of failures */
    GW_RING_DATA = 2,    /* a leader to the next one */
    GW_RING_PAIR = 3,    /* messages from one rank to another */
};

/* Who may connect. */
struct gw_ring_trust {
    uint64_t attempt;
    uint32_t ranks;
    bool keyed; /* else plain TCP */
    struct gw_tls_key key;
};

/* How long a call waits; it also ends when the segment is broken. */
struct gw_ring_wait {
    const struct gw_segment *segment;
    uint64_t deadline_ns; /* on CLOCK_MONOTONIC */
};

/* All functions here return 0, or GW_ETIMEDOUT (the deadline passed), GW_EABORTED (the segment is
 * broken), GW_ECLOSED, GW_EIO, GW_EPROTO, GW_EPERM (refused), GW_EEXIST (refused: that rank is
 * there), GW_ENOMEM, with a text. */

struct gw_ring_call {
    const char *endpoint;
    const struct gw_ring_trust *trust; /* borrowed during the call */
    enum gw_ring_purpose purpose;
    int from, to; /* ranks */
};

/* gw_ring_link_connect connects and returns when it was let in; the caller frees the link. */
int gw_ring_link_connect(const struct gw_ring_call *call, const struct gw_ring_wait *wait,
                         struct gw_transport **link, struct gw_error *error);

/* gw_ring_link_send sends all of data; gw_ring_link_receive fills all of it. */
struct gw_ring_bytes {
    void *data;
    size_t bytes;
};
int gw_ring_link_send(struct gw_transport *link, const struct gw_ring_bytes *bytes,
                      const struct gw_ring_wait *wait, struct gw_error *error);
int gw_ring_link_receive(struct gw_transport *link, const struct gw_ring_bytes *bytes,
                         const struct gw_ring_wait *wait, struct gw_error *error);

/* gw_ring_link_pause waits until a descriptor is ready, or a moment has passed: 0, GW_ETIMEDOUT or
 * GW_EABORTED. */
struct pollfd;
int gw_ring_link_pause(struct pollfd *fds, size_t count, const struct gw_ring_wait *wait,
                       struct gw_error *error);

/* gw_ring_link_welcome lets a guest in; gw_ring_link_refuse sends it away with a code, and frees
 * its link. */
int gw_ring_link_welcome(struct gw_transport *link, const struct gw_ring_wait *wait,
                         struct gw_error *error);
void gw_ring_link_refuse(struct gw_transport *link, int code);

/* gw_ring_link_plain_new makes a link without TLS and takes the descriptor, also when it fails. */
int gw_ring_link_plain_new(int fd, struct gw_transport **link, struct gw_error *error);

/* gw_ring_link_keep_alive has the kernel notice, after about ten seconds, that the host at the
 * other end has vanished. */
void gw_ring_link_keep_alive(int fd);

#endif
