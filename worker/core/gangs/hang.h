/* Detects ranks that hang. */
#ifndef GW_WORKER_CORE_GANGS_HANG_H
#define GW_WORKER_CORE_GANGS_HANG_H

#include "worker/core/model/state.h"

void gw_hang_tick(struct gw_node_core *core);
uint64_t gw_hang_deadline_ns(const struct gw_node_core *core);
void gw_hang_on_surveyed(struct gw_node_core *core, const struct gw_event *event);
void gw_hang_on_look(struct gw_node_core *core, const struct gw_msg_gang_look *wanted);
/* gw_hang_on_scheduler is called at a registration. Everything about the gang that was reported
 * before is reported again. */
void gw_hang_on_scheduler(struct gw_gang *gang);

#endif
