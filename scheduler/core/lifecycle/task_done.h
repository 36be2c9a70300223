/* A task has ended well. */
#ifndef GW_SCHEDULER_CORE_TASK_DONE_H
#define GW_SCHEDULER_CORE_TASK_DONE_H

#include "scheduler/core/model/state.h"

/* gw_sched_task_done ends a task well with its results. */
void gw_sched_task_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        const struct gw_results *results);

#endif
