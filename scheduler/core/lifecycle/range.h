/* Ranges: what of them is cancelled, and when they are over. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_RANGE_H
#define GW_SCHEDULER_CORE_LIFECYCLE_RANGE_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranges_settle gives blocks of rows back, and cancels ranges that are to end at their
 * first failure. */
void gw_sched_ranges_settle(struct gw_sched *sched);

#endif
