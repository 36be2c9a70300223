/* Handles messages and the end of all connections of this worker. */
#ifndef GW_NET_PEERS_H
#define GW_NET_PEERS_H

#include "worker/net/link/state.h"

int gw_peers_listen(struct gw_host *host, struct gw_error *error);
void gw_peers_connect_scheduler(struct gw_host *host);
/* gw_peers_link_gone handles the end of a connection, tells the core and frees the connection. */
void gw_peers_link_gone(struct gw_host_link *link, const struct gw_error *error);
void gw_peers_close(struct gw_host *host);

/* gw_peers_on_message and gw_peers_on_close are the callbacks of all connections. */
void gw_peers_on_message(struct gw_link *handle, const struct gw_message *message, const int *fds,
                         uint8_t fd_count, void *arg);
void gw_peers_on_close(struct gw_link *handle, const struct gw_error *error, void *arg);

#endif
