/* The inactivity timeout of tasks. */
#ifndef GW_WORKER_CORE_PROCESSES_INACTIVITY_TIMEOUT_H
#define GW_WORKER_CORE_PROCESSES_INACTIVITY_TIMEOUT_H

#include "worker/core/model/state.h"

/* gw_inactivity_timeout_tick requests a measurement of the task's output if one is due.
 * gw_inactivity_timeout_deadline_ns returns when it is due. */
void gw_inactivity_timeout_tick(struct gw_node_core *core, struct gw_process *process);
uint64_t gw_inactivity_timeout_deadline_ns(const struct gw_process *process);

/* gw_inactivity_timeout_end records a sign of life of the task that a process executes, which ends
 * its period of silence. */
void gw_inactivity_timeout_end(const struct gw_node_core *core, struct gw_process *process);
void gw_inactivity_timeout_on_measured(struct gw_node_core *core, const struct gw_event *event);

#endif
