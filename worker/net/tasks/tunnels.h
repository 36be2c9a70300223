/* The worker's ends of tunnels: processes beside ranks, TCP ports of this host, and the standard
 * input of commands. */
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

/* gw_tunnels_on_supervisor tells whether a message of the supervisor is about a process of a
 * tunnel, which is none of the core's. */
bool gw_tunnels_on_supervisor(struct gw_tunnels *tunnels, const struct gw_message *message);

/* gw_tunnels_keep_input keeps our end of a process's standard input (fd: taken) for the tunnel that
 * brings it; it is closed when the process is over. */
void gw_tunnels_keep_input(struct gw_tunnels *tunnels, uint64_t process, int fd);

/* gw_tunnels_look closes those whose rank has ended; after each step of the core. */
void gw_tunnels_look(struct gw_tunnels *tunnels);

/* gw_tunnels_forget closes all: the scheduler is gone. */
void gw_tunnels_forget(struct gw_tunnels *tunnels);

#endif
