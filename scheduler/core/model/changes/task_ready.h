/* Makes tasks ready. */
#ifndef GW_SCHEDULER_CORE_TASK_READY_H
#define GW_SCHEDULER_CORE_TASK_READY_H

#include "scheduler/core/model/state.h"

/* gw_sched_task_ready puts a waiting task without unsatisfied dependencies into its ready queue. */
void gw_sched_task_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_ready_queue returns the ready queue of a task. */
struct gw_queue *gw_sched_task_ready_queue(struct gw_sched *sched, struct gw_job *job,
                                           uint32_t row);

#endif
