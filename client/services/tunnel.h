/* The inside of tunnels, for the thread that reads. */
#ifndef GW_CLIENT_TUNNEL_H
#define GW_CLIENT_TUNNEL_H

#include "client/link/client.h"

/* gw_tunnel_on_message takes data, credit and close; the client's lock is held. */
void gw_tunnel_on_message(struct gw_client *client, const struct gw_message *message);

/* gw_tunnel_fail_all ends all tunnels with the connection; the client's lock is held. */
void gw_tunnel_fail_all(struct gw_client *client);

#endif
