/* Events into the core. */
#ifndef GW_NET_STEP_H
#define GW_NET_STEP_H

#include "worker/net/link/state.h"

/* gw_host_step lets the core take an event and carries out what follows. gw_step_later does so
 * after the step that is under way (text and hash are copied). */
int gw_host_step(struct gw_host *host, const struct gw_event *event);

void gw_step_later(struct gw_host *host, const struct gw_event *event);
/* gw_step_message gives a message to the core; descriptors become its tokens. */
int gw_step_message(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                    uint8_t fd_count);

#endif
