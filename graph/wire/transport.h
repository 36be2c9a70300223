/* A transport: the interface that a channel uses instead of a plain Unix socket. tls.h implements
 * it.
 *
 * A transport carries bytes but no descriptors. The channel sends the contents of descriptors
 * instead (content.h). None of the functions blocks. They are called by one thread at a time. */
#ifndef GW_WIRE_TRANSPORT_H
#define GW_WIRE_TRANSPORT_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct gw_transport {
    int fd; /* descriptor for poll; owned by the transport */

    /* Reads up to `bytes` (> 0) bytes. Returns 0 with *got > 0; GW_EAGAIN; GW_ECLOSED if the other
     * side has closed the connection. Returns an error with a text: GW_EPERM (refused), GW_EPROTO
     * or GW_EIO. */
    int (*read)(struct gw_transport *self, void *data, size_t bytes, size_t *got,
                struct gw_error *error);
    /* Accepts up to `bytes` (> 0) bytes, which may stay in a buffer until `flush`. Returns 0 with
     * *wrote > 0; GW_EAGAIN if nothing was accepted; otherwise the errors of `read`. */
    int (*write)(struct gw_transport *self, const void *data, size_t bytes, size_t *wrote,
                 struct gw_error *error);
    /* Sends the buffered bytes and the transport's own data (a handshake). Returns 0 if everything
     * was sent and `write` accepts more; GW_EAGAIN; otherwise the errors of `read`. */
    int (*flush)(struct gw_transport *self, struct gw_error *error);
    /* Returns true if the transport waits for the socket to become writable. If it returns false,
     * GW_EAGAIN means that the transport waits for data from the other side. */
    bool (*blocked)(const struct gw_transport *self);
    /* Returns true if `read` may return bytes although the socket does not become readable. */
    bool (*pending)(const struct gw_transport *self);
    /* Closes the socket and frees the transport. */
    void (*free)(struct gw_transport *self);
};

#endif
