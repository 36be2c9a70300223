/* Giving checkpoints to other workers: the other side of transfer.h. */
#ifndef GW_NET_SERVE_H
#define GW_NET_SERVE_H

#include "worker/net/link/state.h"

struct gw_bundle;

/* gw_serve_on_message takes a transfer_want or transfer_more; gw_serve_on_gone: nobody asks any
 * more. */
void gw_serve_on_message(struct gw_host_link *link, const struct gw_message *message);
void gw_serve_on_gone(struct gw_host_link *link);

/* gw_serve_open lists what a want names. It may block. */
int gw_serve_open(const struct gw_host *host, const struct gw_msg_transfer_want *want,
                  struct gw_bundle **bundle, struct gw_error *error);

#endif
