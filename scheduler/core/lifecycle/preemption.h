/* Preemption: running work saves and ends, so that work of a higher priority, or within its quotas,
 * can start in its place. placement/victims.h says who may preempt whom.
 *
 * Rules. Functions are told to return at their next step, commands and tasks get the preemption
 * signal. Work that goes on is ended after the grace period of its job. The end counts against no
 * budget. The work keeps its place in the line, and continues from its checkpoint. The room is
 * reserved until the task that waits has started. If this task does not need the room any more,
 * functions that have not returned are told to go on.
 *
 * Up to GW_PREEMPTIONS_MAX preemptions are in progress at the same time, at most one for a job.
 * Each has a reservation, and nothing is counted twice: what one keeps free, and what its victims
 * give back, is not room for another. Nothing is preempted for a task that can start when the
 * victims of others have ended. */
#ifndef GW_SCHEDULER_CORE_PREEMPTION_H
#define GW_SCHEDULER_CORE_PREEMPTION_H

#include "scheduler/core/model/state.h"

/* gw_sched_preemption_settle begins or continues a preemption. It is called after the placement,
 * and returns true if more tasks may be placed now. It does nothing without a policy. */
bool gw_sched_preemption_settle(struct gw_sched *sched);

/* gw_sched_preemption_deadline_ns returns when gw_sched_preemption_settle has to be called, or
 * UINT64_MAX. */
uint64_t gw_sched_preemption_deadline_ns(const struct gw_sched *sched);

#endif
