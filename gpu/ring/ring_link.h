/* Connections between the hosts of one communicator: TCP, or TLS 1.3 if a key is given.
 *
 * The connecting rank sends a hello (attempt, number of ranks, its rank, the purpose) and waits for
 * an answer. The connection is refused if the key, attempt, byte order or number of ranks is wrong,
 * or if that rank is connected already. A refused connection does not disturb the other ones. */
#ifndef GW_GPU_RING_LINK_H
#define GW_GPU_RING_LINK_H

#include "gpu/host/segment.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/tls.h"

enum gw_ring_purpose {
    GW_RING_CONTROL =
        1, /* control link from a host's leader to rank 0: addresses, causes of failures */
    GW_RING_DATA = 2, /* data link from a leader to the next leader */
    GW_RING_PAIR = 3, /* messages from one rank to another rank */
};

/* Which connections are accepted. */
struct gw_ring_trust {
    uint64_t attempt;
    uint32_t ranks;
    bool keyed; /* TLS with `key`; else plain TCP */
    struct gw_tls_key key;
};

/* How long a call may wait. The call also ends if the segment is broken. */
struct gw_ring_wait {
    const struct gw_segment *segment;
    uint64_t deadline_ns; /* deadline on CLOCK_MONOTONIC */
};

/* All functions of this header return 0, or an error with a text: GW_ETIMEDOUT (the deadline
 * passed), GW_EABORTED (the segment is broken), GW_ECLOSED, GW_EIO, GW_EPROTO, GW_EPERM (refused),
 * GW_EEXIST (refused: that rank is connected already), GW_ENOMEM. */

struct gw_ring_call {
    const char *endpoint;
    const struct gw_ring_trust *trust; /* borrowed during the call */
    enum gw_ring_purpose purpose;
    int from, to; /* ranks */
};

/* gw_ring_link_connect connects and returns when the other side has accepted the hello. The caller
 * frees the link. */
int gw_ring_link_connect(const struct gw_ring_call *call, const struct gw_ring_wait *wait,
                         struct gw_transport **link, struct gw_error *error);

/* gw_ring_link_send sends all of the bytes. gw_ring_link_receive returns when the buffer is full.
 */
struct gw_ring_bytes {
    void *data;
    size_t bytes;
};
int gw_ring_link_send(struct gw_transport *link, const struct gw_ring_bytes *bytes,
                      const struct gw_ring_wait *wait, struct gw_error *error);
int gw_ring_link_receive(struct gw_transport *link, const struct gw_ring_bytes *bytes,
                         const struct gw_ring_wait *wait, struct gw_error *error);

/* gw_ring_link_pause waits until a descriptor is ready or a short time has passed. It returns 0,
 * GW_ETIMEDOUT or GW_EABORTED. */
struct pollfd;
int gw_ring_link_pause(struct pollfd *fds, size_t count, const struct gw_ring_wait *wait,
                       struct gw_error *error);

/* gw_ring_link_welcome accepts a connection. gw_ring_link_refuse refuses it with an error code and
 * frees the link. */
int gw_ring_link_welcome(struct gw_transport *link, const struct gw_ring_wait *wait,
                         struct gw_error *error);
void gw_ring_link_refuse(struct gw_transport *link, int code);

/* gw_ring_link_plain_new makes a link without TLS. It takes over the descriptor, also if it fails.
 */
int gw_ring_link_plain_new(int fd, struct gw_transport **link, struct gw_error *error);

/* gw_ring_link_detect_loss sets socket options so that the kernel closes the connection about ten
 * seconds after the other host has vanished. */
void gw_ring_link_detect_loss(int fd);

#endif
