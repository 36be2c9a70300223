/* Appliers of facts about tasks. */
#ifndef GW_SCHEDULER_CORE_CHANGES_TASK_H
#define GW_SCHEDULER_CORE_CHANGES_TASK_H

#include "scheduler/core/model/state.h"

/* gw_sched_pipelined_task_complete: the last input of a pipelined task has arrived at its worker,
 * so the task counts as placed there. For appliers only. */
void gw_sched_pipelined_task_complete(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
