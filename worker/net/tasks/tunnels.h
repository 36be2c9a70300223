/* The worker's ends of tunnels. A tunnel leads to a process beside a rank, to a TCP port of this
 * host, or to the standard input of a command. */
#ifndef GW_NET_TUNNELS_H
#define GW_NET_TUNNELS_H

#include "graph/wire/message.h"

#include <uv.h>

struct gw_host;
struct gw_tunnels;

/* gw_tunnels_new creates the table of tunnels of a host (borrowed). gw_tunnels_close ends all
 * tunnels, and frees the table in a later turn of the loop. */
struct gw_tunnels *gw_tunnels_new(struct gw_host *host);
void gw_tunnels_close(struct gw_tunnels *tunnels);

/* gw_tunnels_on_message handles messages of the scheduler about tunnels: open, data, credit and
 * close. */
void gw_tunnels_on_message(struct gw_tunnels *tunnels, const struct gw_message *message);

/* gw_tunnels_on_supervisor handles messages of the supervisor about processes of tunnels. Returns
 * false if the message is for the core. */
bool gw_tunnels_on_supervisor(struct gw_tunnels *tunnels, const struct gw_message *message);

/* gw_tunnels_hold_input stores the writing end of a process's standard input until a tunnel to it
 * is opened. It takes over fd. The end is closed when the process has ended. */
void gw_tunnels_hold_input(struct gw_tunnels *tunnels, uint64_t process, int fd);

/* gw_tunnels_look closes the tunnels whose rank has ended. It must be called after each step of the
 * core. */
void gw_tunnels_look(struct gw_tunnels *tunnels);

/* gw_tunnels_forget closes all tunnels, since the scheduler is gone. */
void gw_tunnels_forget(struct gw_tunnels *tunnels);

#endif
