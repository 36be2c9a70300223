/* Registers this worker at a scheduler, and exchanges heartbeats. */
#ifndef GW_WORKER_CORE_LINK_REGISTRATION_H
#define GW_WORKER_CORE_LINK_REGISTRATION_H

#include "worker/core/model/state.h"

/* gw_registration_prepare drops the attempts and stored ends that the scheduler of this welcome
 * must not get. gw_registration_on_welcome sends the registration and reports the rest. */
void gw_registration_prepare(struct gw_node_core *core, const struct gw_message *message);
void gw_registration_on_welcome(struct gw_node_core *core, const struct gw_message *message);
void gw_registration_send_heartbeat(struct gw_node_core *core);
void gw_registration_on_heartbeat(struct gw_node_core *core,
                                  const struct gw_msg_heartbeat *heartbeat);

#endif
