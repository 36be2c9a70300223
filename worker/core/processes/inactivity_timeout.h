/* Progress limits. */
#ifndef GW_WORKER_CORE_PROCESSES_INACTIVITY_TIMEOUT_H
#define GW_WORKER_CORE_PROCESSES_INACTIVITY_TIMEOUT_H

#include "worker/core/model/state.h"

/* gw_inactivity_timeout_tick has output measured where that is due;
 * gw_inactivity_timeout_deadline_ns is when. */
void gw_inactivity_timeout_tick(struct gw_node_core *core, struct gw_process *process);
uint64_t gw_inactivity_timeout_deadline_ns(const struct gw_process *process);

/* gw_inactivity_timeout_end is a sign of life of what a process executes. */
void gw_inactivity_timeout_end(const struct gw_node_core *core, struct gw_process *process);
void gw_inactivity_timeout_on_measured(struct gw_node_core *core, const struct gw_event *event);

#endif
