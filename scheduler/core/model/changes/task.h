/* Tasks become ready, end, and run again. */
#ifndef GW_SCHEDULER_CORE_CHANGES_TASK_H
#define GW_SCHEDULER_CORE_CHANGES_TASK_H

#include "scheduler/core/model/state.h"

/* gw_sched_pipelined_task_complete: a task that was handed to a worker ahead of its inputs has them
 * all, and counts as placed there; for apply functions. */
void gw_sched_pipelined_task_complete(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
