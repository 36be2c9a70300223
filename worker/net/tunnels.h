/* The worker's ends of tunnels: processes beside ranks, and TCP ports of this host. */
#ifndef GW_NET_TUNNELS_H
#define GW_NET_TUNNELS_H

#include "graph/wire/message.h"

#include <uv.h>

struct gw_host;
struct gw_tunnels;

/* gw_tunnels_new makes the table of a host (borrowed). gw_tunnels_close ends all and frees it in a
 * later turn of the loop. */
struct gw_tunnels *gw_tunnels_new(struct gw_host *host);
void gw_tunnels_close(struct gw_tunnels *tunnels);

/* gw_tunnels_on_message takes what the scheduler says of tunnels: open, data, credit, close. */
void gw_tunnels_on_message(struct gw_tunnels *tunnels, const struct gw_message *message);

/* gw_tunnels_on_guardian tells whether a message of the guardian is about a process of a tunnel,
 * which is none of the core's. */
bool gw_tunnels_on_guardian(struct gw_tunnels *tunnels, const struct gw_message *message);

/* gw_tunnels_look closes those whose rank has ended; after each step of the core. */
void gw_tunnels_look(struct gw_tunnels *tunnels);

/* gw_tunnels_forget closes all: the scheduler is gone. */
void gw_tunnels_forget(struct gw_tunnels *tunnels);

#endif
