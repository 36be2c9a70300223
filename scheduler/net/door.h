/* The door: the TCP address of a scheduler, and the check of the tokens of its peers.
 *
 * Every connection uses TLS 1.3 with the key of a token. The token file is read again whenever it
 * changes. New tokens are valid immediately, and connections of revoked tokens are closed. */
#ifndef GW_SCHEDULER_NET_DOOR_H
#define GW_SCHEDULER_NET_DOOR_H

#include "graph/wire/endpoint.h"
#include "graph/wire/token_file.h"
#include "graph/wire/transport.h"

#include <uv.h>

struct gw_door;

struct gw_door_options {
    const char *listen; /* HOST or HOST:PORT */
    const char *tokens; /* path of the token file; both are borrowed during the call */
    /* A connection has arrived. Its TLS handshake has not begun. The callee owns the transport. */
    void (*on_accept)(struct gw_transport *transport, void *arg);
    /* The token file has changed. Both versions are borrowed during the call. */
    void (*on_changed)(const struct gw_token_file *before, const struct gw_token_file *now,
                       void *arg);
    /* Tokens were removed or changed. The callee must close connections whose token is not known
     * any more (gw_door_knows). */
    void (*on_revoked)(void *arg);
    void (*on_closed)(void *arg); /* gw_door_close is complete */
    void *arg;
};

/* gw_door_open begins to listen. Returns GW_ENOENT, GW_EPERM or GW_ECORRUPT for a bad token file,
 * and GW_EINVAL or GW_EIO for a bad address, with a text that says what to do. */
int gw_door_open(uv_loop_t *loop, const struct gw_door_options *options, struct gw_door **door,
                 struct gw_error *error);

/* gw_door_close stops listening. The door is freed in a later turn of the loop. NULL is accepted.
 */
void gw_door_close(struct gw_door *door);

/* gw_door_address returns the address to publish, "HOST:PORT", numeric. Borrowed. */
const char *gw_door_address(const struct gw_door *door);

/* gw_door_admit returns the token that a connection has proven to have, or NULL if the token was
 * removed or its secret has changed. Borrowed until the next turn of the loop. */
const struct gw_token *gw_door_admit(const struct gw_door *door,
                                     const struct gw_transport *transport);

/* gw_door_knows returns true if an admitted token still exists with the same secret. */
bool gw_door_knows(const struct gw_door *door, const struct gw_token *token);

/* gw_door_uid returns the number by which the core identifies the peer of a token. For a user it is
 * the same in every term of the scheduler. For a user with the name of the scheduler's own user, it
 * is the uid of that user. For a worker it is derived from its token. */
uint32_t gw_door_uid(const struct gw_door *door, const struct gw_token *token);

/* gw_door_owner returns the number of the user to whom the worker of a token belongs. */
uint32_t gw_door_owner(const struct gw_door *door, const struct gw_token *token);

#endif
