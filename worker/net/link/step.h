/* Delivers events to the core. */
#ifndef GW_NET_STEP_H
#define GW_NET_STEP_H

#include "worker/net/link/state.h"

/* gw_host_step delivers an event to the core and carries out the resulting effects. gw_step_later
 * does the same, but if a step is in progress, it stores a copy of the event until that step has
 * ended. */
int gw_host_step(struct gw_host *host, const struct gw_event *event);

void gw_step_later(struct gw_host *host, const struct gw_event *event);
/* gw_step_message delivers a message to the core. The core gets tokens for the descriptors. */
int gw_step_message(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                    uint8_t fd_count);

#endif
