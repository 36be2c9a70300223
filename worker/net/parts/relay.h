/* Relays: a task's connection to a scheduler that is reached by TLS.
 *
 * The task gets one end of a socketpair; what it sends goes on over a connection of this worker's,
 * and back. So the key stays with the worker, and a task speaks for its own attempt only: hello is
 * said here. */
#ifndef GW_NET_RELAY_H
#define GW_NET_RELAY_H

#include "graph/wire/link.h"

struct gw_relay;

/* The relays of a host; zeroed: none. */
struct gw_relays {
    struct gw_relay *first;
    uint32_t count;
};

/* gw_relay_open takes a transport, sends hello over it, and gives the task's end (the caller's). It
 * lasts until either side closes. 0, GW_ENOMEM or GW_EIO with a text. */
int gw_relay_open(struct gw_relays *relays, uv_loop_t *loop, struct gw_transport *transport,
                  const struct gw_message *hello, int *fd, struct gw_error *error);

/* gw_relays_close closes all; they are freed in later turns of the loop. */
void gw_relays_close(struct gw_relays *relays);

#endif
