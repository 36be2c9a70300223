/* Delays: tasks that wait for some time before they run again. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_DELAY_H
#define GW_SCHEDULER_CORE_LIFECYCLE_DELAY_H

#include "scheduler/core/model/state.h"

/* gw_sched_delay makes a queued task wait for delay_ns before it can be placed.
 * gw_sched_delays_begin is called when the scheduler has restarted: it restores the delays of
 * tasks that waited before the restart. */
void gw_sched_delay(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint64_t delay_ns);
void gw_sched_delays_begin(struct gw_sched *sched);

/* gw_sched_delays_on_tick makes the tasks ready whose delay has passed. */
void gw_sched_delays_on_tick(struct gw_sched *sched);

/* gw_sched_delays_deadline_ns returns the time at which the next delay ends, or UINT64_MAX if no
 * task is delayed. */
uint64_t gw_sched_delays_deadline_ns(const struct gw_sched *sched);

/* gw_sched_delay_left_ns returns how long a task must still wait, or 0. It searches all delays. */
uint64_t gw_sched_delay_left_ns(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row);

#endif
