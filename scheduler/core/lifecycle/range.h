/* Ranges: cancelling them, and freeing blocks of tasks that have ended. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_RANGE_H
#define GW_SCHEDULER_CORE_LIFECYCLE_RANGE_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranges_settle frees the blocks of tasks that are no longer needed. It also cancels a
 * range after its first failure, if the client asked for that. */
void gw_sched_ranges_settle(struct gw_sched *sched);

#endif
