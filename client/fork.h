/* Clients in the child of a fork. */
#ifndef GW_CLIENT_FORK_H
#define GW_CLIENT_FORK_H

#include "client/link/client.h"

/* gw_fork_watch makes sure that the copy of this open client in the child of a fork behaves like a
 * closed client: its calls fail with GW_ECLOSED and touch neither the connection nor the cluster.
 * gw_fork_unwatch ends this. */
void gw_fork_watch(struct gw_client *client);
void gw_fork_unwatch(struct gw_client *client);

#endif
