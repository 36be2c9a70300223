/* Placement: ready tasks go to workers. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_H
#define GW_SCHEDULER_CORE_PLACEMENT_H

#include "scheduler/core/model/state.h"

/* gw_sched_placement places what can be placed now, in the order of priority, age of the job, row.
 */
void gw_sched_placement(struct gw_sched *sched);

#endif
