/* Sends checkpoints to other workers that request them (transfer.h). */
#ifndef GW_NET_SERVE_H
#define GW_NET_SERVE_H

#include "worker/net/link/state.h"

/* gw_serve_on_message handles transfer_want and transfer_more. gw_serve_on_gone handles the end of
 * the connection. */
void gw_serve_on_message(struct gw_host_link *link, const struct gw_message *message);
void gw_serve_on_gone(struct gw_host_link *link);

#endif
