/* Placement: decides which worker runs each ready task. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_H
#define GW_SCHEDULER_CORE_PLACEMENT_H

#include "scheduler/core/model/state.h"

/* gw_sched_placement places all tasks that fit now, in the order of priority, age of the job, and
 * index of the task in its job. */
void gw_sched_placement(struct gw_sched *sched);

#endif
