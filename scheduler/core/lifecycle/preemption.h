/* Preemption: running work saves and ends, so that work of a higher priority, or within its quotas,
 * can start in its place. placement/victims.h says who may preempt whom.
 *
 * Rules. Functions are told to return at their next step, commands and tasks get the preemption
 * signal. Work that goes on is ended after the grace period of its job. The end counts against no
 * budget. The work keeps its place in the line, and continues from its checkpoint. The room is
 * reserved until the task that waits has started. There is one preemption at a time: the next one
 * is decided when the room of the last one is in use, so nothing is counted twice. If the task that
 * waits does not need the room any more, functions that have not returned are told to go on. */
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
