/* Sending messages by links. */
#ifndef GW_NET_SEND_H
#define GW_NET_SEND_H

#include "worker/net/link/state.h"

/* gw_host_send sends with duplicates of descriptors. */
void gw_host_send(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                  uint8_t count);
/* gw_host_send_frame sends what a backlog keeps: 0 or a negative code. */
int gw_host_send_frame(struct gw_host_link *link, const struct gw_backlog_item *item);
/* gw_host_send_scheduler sends what is not the core's (host: a struct gw_host), while welcomed. */
void gw_host_send_scheduler(const struct gw_message *message, void *host);

/* gw_host_send_lazily has the scheduler told with what it is told next, 200 us later at most. False
 * where the message has to leave at once: the caller sends it. gw_host_send_look_at_lazy sends what
 * has waited for so long. */
bool gw_host_send_lazily(struct gw_host_link *link, const struct gw_message *message);
void gw_host_send_look_at_lazy(struct gw_host *host, uint64_t now_ns);

#endif
