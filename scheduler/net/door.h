/* The door: where a scheduler is reached by TCP, and who may come in.
 *
 * Every connection speaks TLS 1.3 by the key of a token. The token file is read again whenever it
 * changes: new tokens hold at once, and connections of revoked ones are closed. */
#ifndef GW_SCHEDULER_NET_DOOR_H
#define GW_SCHEDULER_NET_DOOR_H

#include "graph/wire/endpoint.h"
#include "graph/wire/token_file.h"
#include "graph/wire/transport.h"

#include <uv.h>

struct gw_door;

struct gw_door_options {
    const char *listen; /* HOST or HOST:PORT */
    const char *tokens; /* path of the token file; both borrowed during the call */
    /* A connection came; the handshake is still to be made. The transport is the callee's. */
    void (*on_accept)(struct gw_transport *transport, void *arg);
    /* Tokens have gone or changed: who came in by one that is not known any more (gw_door_knows)
     * must go. */
    void (*on_revoked)(void *arg);
    void (*on_closed)(void *arg); /* gw_door_close is through */
    void *arg;
};

/* gw_door_open listens. GW_ENOENT, GW_EPERM, GW_ECORRUPT of the token file, GW_EINVAL, GW_EIO of
 * the address: with texts that say what to do. */
int gw_door_open(uv_loop_t *loop, const struct gw_door_options *options, struct gw_door **door,
                 struct gw_error *error);

/* gw_door_close listens no more; the door is freed in a later turn. NULL is accepted. */
void gw_door_close(struct gw_door *door);

/* gw_door_address is what to tell others, "HOST:PORT", numeric; borrowed. */
const char *gw_door_address(const struct gw_door *door);

/* gw_door_admit gives the token by which a connection came in, by the identity that it has proven;
 * NULL where that is no token (any more) or has another secret by now. Borrowed until the loop's
 * next turn. */
const struct gw_token *gw_door_admit(const struct gw_door *door,
                                     const struct gw_transport *transport);

/* gw_door_knows tells whether a token that was admitted still is one, with the same secret. */
bool gw_door_knows(const struct gw_door *door, const struct gw_token *token);

/* gw_door_uid gives the number by which the core knows who came in: a user's is the same in every
 * life of a scheduler, and that of the scheduler's own user where the names are the same; a
 * worker's is its token's. */
uint32_t gw_door_uid(const struct gw_door *door, const struct gw_token *token);

#endif
