/* Ranges end early. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RANGE_H
#define GW_SCHEDULER_CORE_CHANGES_RANGE_H

#include "scheduler/core/model/state.h"

/* gw_sched_range_stop cancels the rows that are not made yet. */
void gw_sched_range_stop(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_range_catch_up makes the rows of a range up to `row`, which a durable fact is about;
 * does nothing for other jobs. */
void gw_sched_range_catch_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
