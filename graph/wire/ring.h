/* A ring: by what a link sends, and receives where that is expected, with the one system call that
 * then waits for all that the loop waits for. A contract; uring.h has one.
 *
 * A link on a ring is on the loop as any other, and reads and writes for itself wherever the ring
 * has not done it. All on the loop's thread. A callback is never called inside of a function of
 * the ring's. */
#ifndef GW_WIRE_RING_H
#define GW_WIRE_RING_H

#include "graph/wire/channel.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

struct gw_ring_socket;

struct gw_ring_callbacks {
    /* The end of the turn in which `later` was called. May call `send` and `later`; calls nothing
     * that another socket hears of. */
    void (*on_flush)(struct gw_ring_socket *socket);
    /* So many bytes of what `send` was given have left: 0 where none, whatever the reason. */
    void (*on_sent)(struct gw_ring_socket *socket, size_t bytes);
    /* Bytes came (msg_iov[0]; at least one), with control messages and flags as by recvmsg: valid
     * during the call, all descriptors are the callee's. */
    void (*on_received)(struct gw_ring_socket *socket, struct msghdr *came);
};

/* The link owns it; `fd` and `callbacks` are the link's to set, `piece` to fill for `send`. */
struct gw_ring_socket {
    int fd;
    const struct gw_ring_callbacks *callbacks;
    bool wanted;
    struct gw_channel_piece piece;
    size_t sent;
};

struct gw_ring {
    uv_loop_t *loop;
    void (*later)(struct gw_ring *ring, struct gw_ring_socket *socket);
    /* It is closing: nothing is called any more. Before the socket is closed. */
    void (*leave)(struct gw_ring *ring, struct gw_ring_socket *socket);
    /* In on_flush only, once: sends socket->piece with the call that ends this turn; on_sent
     * follows before anything else does. Who is sent to is expected to answer next. */
    void (*send)(struct gw_ring *ring, struct gw_ring_socket *socket);
};

#endif
