/* Relays: the connection of a task to a scheduler that is reached by TLS.
 *
 * The task gets one end of a socket pair. The worker passes messages on between this socket and a
 * TLS connection of its own. So the key stays in the worker. The worker sends hello itself, so a
 * task can act only as its own attempt. */
#ifndef GW_NET_RELAY_H
#define GW_NET_RELAY_H

#include "graph/wire/link.h"

struct gw_relay;

/* All relays of a host. A zeroed structure has none. */
struct gw_relays {
    struct gw_relay *first;
    uint32_t count;
};

/* gw_relay_open sends hello over a transport, which it takes over, and returns the task's end,
 * which the caller owns. The relay lasts until either side closes. Returns 0, or GW_ENOMEM or
 * GW_EIO and sets the error. */
int gw_relay_open(struct gw_relays *relays, uv_loop_t *loop, struct gw_transport *transport,
                  const struct gw_message *hello, int *fd, struct gw_error *error);

/* gw_relays_set_user notes the Unix user of the newest relay. gw_relays_of returns the number of
 * relays of a user. */
void gw_relays_set_user(struct gw_relays *relays, uid_t user);
uint32_t gw_relays_of(const struct gw_relays *relays, uid_t user);

/* gw_relays_close closes all relays. They are freed in later turns of the loop. */
void gw_relays_close(struct gw_relays *relays);

#endif
