/* Delays: tasks that wait for a while before they are tried again. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_DELAY_H
#define GW_SCHEDULER_CORE_LIFECYCLE_DELAY_H

#include "scheduler/core/model/state.h"

/* gw_sched_delay has a task that is to be tried again wait so long before that.
 * gw_sched_delays_begin goes on with what earlier lives had not waited to its end. */
void gw_sched_delay(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint64_t delay_ns);
void gw_sched_delays_begin(struct gw_sched *sched);

/* gw_sched_delays_on_tick lets those go whose time has come. */
void gw_sched_delays_on_tick(struct gw_sched *sched);

/* gw_sched_delays_deadline_ns is when the next one may go; UINT64_MAX: there is none. */
uint64_t gw_sched_delays_deadline_ns(const struct gw_sched *sched);

/* gw_sched_delay_left_ns is how long a delayed task has still to wait; it looks at all delays. */
uint64_t gw_sched_delay_left_ns(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row);

#endif
