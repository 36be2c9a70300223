/* Handles the end of processes and decides the outcome of what they executed. */
#ifndef GW_WORKER_CORE_LINK_PROCESS_OUTCOME_H
#define GW_WORKER_CORE_LINK_PROCESS_OUTCOME_H

#include "worker/core/model/state.h"

void gw_process_outcome_on_spawned(struct gw_node_core *core, const struct gw_msg_spawned *spawned);
void gw_process_outcome_on_exited(struct gw_node_core *core, const struct gw_msg_exited *exited);
void gw_process_outcome_on_reaped(struct gw_node_core *core, const struct gw_msg_reaped *reaped);
/* gw_process_outcome_on_close handles the end of a process's connection. */
void gw_process_outcome_on_close(struct gw_node_core *core, struct gw_process *process);

#endif
