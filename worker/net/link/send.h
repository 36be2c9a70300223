/* Sends messages on connections. */
#ifndef GW_NET_SEND_H
#define GW_NET_SEND_H

#include "worker/net/link/state.h"

/* gw_host_send sends a message with duplicates of the descriptors. */
void gw_host_send(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                  uint8_t count);
/* gw_host_send_frame sends a stored frame of a backlog. Returns 0 or a negative code. */
int gw_host_send_frame(struct gw_host_link *link, const struct gw_backlog_item *item);
/* gw_host_send_scheduler sends a message that does not come from the core to the scheduler. It does
 * nothing unless the worker is welcomed. `host` is a struct gw_host. */
void gw_host_send_scheduler(const struct gw_message *message, void *host);

/* gw_host_send_lazily holds a message back until the next message to the scheduler, but at most 200
 * us. Returns false if the message must not be held back. The caller then sends it.
 * gw_host_send_look_at_lazy sends messages that were held back long enough. */
bool gw_host_send_lazily(struct gw_host_link *link, const struct gw_message *message);
void gw_host_send_look_at_lazy(struct gw_host *host, uint64_t now_ns);

#endif
