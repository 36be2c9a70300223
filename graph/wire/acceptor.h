/* An acceptor: a listening socket on a libuv loop.
 *
 * Where descriptors run out, one that is kept in reserve takes the next connection and closes it,
 * so that who connects learns it at once, and the acceptor rests for a moment: the loop never spins
 * on a connection that it cannot take. */
#ifndef GW_WIRE_ACCEPTOR_H
#define GW_WIRE_ACCEPTOR_H

#include <gangway/error.h>
#include <uv.h>

struct gw_acceptor;

struct gw_acceptor_callbacks {
    /* A connection came: non-blocking, close on exec, the callee's. */
    void (*on_accept)(int fd, void *arg);
    /* gw_acceptor_close is through: nothing more is called. May be NULL. */
    void (*on_closed)(void *arg);
    void *arg;
};

/* gw_acceptor_open takes the listening socket, also when it fails. 0, GW_ENOMEM or GW_EIO with a
 * text. */
int gw_acceptor_open(uv_loop_t *loop, int fd, const struct gw_acceptor_callbacks *callbacks,
                     struct gw_acceptor **acceptor, struct gw_error *error);

/* gw_acceptor_close closes the socket at once and frees in a later turn. */
void gw_acceptor_close(struct gw_acceptor *acceptor);

#endif
