/* Tunnel messages: functions for the thread that reads messages. */
#ifndef GW_CLIENT_TUNNEL_H
#define GW_CLIENT_TUNNEL_H

#include "client/link/client.h"

/* gw_tunnel_on_message handles the messages tunnel_data, tunnel_credit and tunnel_close. The
 * client's lock is held. */
void gw_tunnel_on_message(struct gw_client *client, const struct gw_message *message);

/* gw_tunnel_fail_all ends all tunnels because the connection has ended. The client's lock is held.
 */
void gw_tunnel_fail_all(struct gw_client *client);

#endif
