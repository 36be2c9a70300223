/* Handing over: a task that waits goes to the worker that makes all that it waits for, so that no
 * hop between the two passes the scheduler, whether their shapes are the same or not. */
#ifndef GW_SCHEDULER_CORE_PIPELINING_H
#define GW_SCHEDULER_CORE_PIPELINING_H

#include "scheduler/core/model/state.h"

/* gw_sched_pipelining hands over what may be, once all that is ready was placed. */
void gw_sched_pipelining(struct gw_sched *sched);

/* gw_sched_pipelining_recall ends the attempts that were handed what a row made, which does not
 * count after all; what they were handed goes with them. */
void gw_sched_pipelining_recall(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_pipelining_check asserts that what keeps slots idle was asked back if somebody waits. */
void gw_sched_pipelining_check(const struct gw_sched *sched);

#endif
