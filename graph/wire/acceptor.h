/* An acceptor: a listening socket on a libuv loop.
 *
 * The acceptor keeps one descriptor in reserve. If the process has no free descriptors, the
 * acceptor uses the reserve to accept the next connection and closes it, so that the other side
 * notices immediately. Then it pauses for a moment. So the loop never spins on a connection that it
 * cannot accept. */
#ifndef GW_WIRE_ACCEPTOR_H
#define GW_WIRE_ACCEPTOR_H

#include <gangway/error.h>
#include <uv.h>

struct gw_acceptor;

struct gw_acceptor_callbacks {
    /* A connection was accepted. fd is non-blocking and close-on-exec. The callback owns it. */
    void (*on_accept)(int fd, void *arg);
    /* gw_acceptor_close has finished and no more callbacks follow. May be NULL. */
    void (*on_closed)(void *arg);
    void *arg;
};

/* gw_acceptor_open takes over the listening socket, also if it fails. Returns 0, or GW_ENOMEM or
 * GW_EIO with a text. */
int gw_acceptor_open(uv_loop_t *loop, int fd, const struct gw_acceptor_callbacks *callbacks,
                     struct gw_acceptor **acceptor, struct gw_error *error);

/* gw_acceptor_close closes the socket immediately and frees the acceptor in a later turn of the
 * loop. */
void gw_acceptor_close(struct gw_acceptor *acceptor);

#endif
