/* Creates and stops rows of ranges. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RANGE_H
#define GW_SCHEDULER_CORE_CHANGES_RANGE_H

#include "scheduler/core/model/state.h"

/* gw_sched_range_stop cancels the rows that are not created yet. */
void gw_sched_range_stop(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_range_catch_up creates the rows of a range up to `row`, if a durable fact names that
 * row. For other jobs it does nothing. */
void gw_sched_range_catch_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
