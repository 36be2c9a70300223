/* A transport: what a channel speaks over instead of a bare unix socket. A contract; tls.h has one.
 *
 * It carries bytes and no descriptors: the channel sends the contents of those (content.h). None of
 * its functions blocks, and all are called by one thread at a time. */
#ifndef GW_WIRE_TRANSPORT_H
#define GW_WIRE_TRANSPORT_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct gw_transport {
    int fd; /* to poll; the transport's */

    /* Reads up to `bytes` (> 0). 0 with *got > 0; GW_EAGAIN; GW_ECLOSED when the other side has
     * said that it closes; GW_EPERM when it was refused, GW_EPROTO, GW_EIO: with a text. */
    int (*read)(struct gw_transport *self, void *data, size_t bytes, size_t *got,
                struct gw_error *error);
    /* Takes up to `bytes` (> 0), which may gather until `flush`. 0 with *wrote > 0; GW_EAGAIN:
     * nothing was taken; else as `read`. */
    int (*write)(struct gw_transport *self, const void *data, size_t bytes, size_t *wrote,
                 struct gw_error *error);
    /* Sends what has gathered, and what the transport itself has to say (a handshake). 0 when all
     * of it has left, and `write` takes more; GW_EAGAIN; else as `read`. */
    int (*flush)(struct gw_transport *self, struct gw_error *error);
    /* True where only a socket that takes more can help; else GW_EAGAIN waits for the other side.
     */
    bool (*blocked)(const struct gw_transport *self);
    /* True where `read` may give bytes without that the socket becomes readable. */
    bool (*pending)(const struct gw_transport *self);
    /* Closes the socket and frees. */
    void (*free)(struct gw_transport *self);
};

#endif
