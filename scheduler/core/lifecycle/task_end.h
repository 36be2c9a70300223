/* What the end of an attempt means for its task: the task ends, is queued again, or is cancelled.
 */
#ifndef GW_SCHEDULER_CORE_TASK_END_H
#define GW_SCHEDULER_CORE_TASK_END_H

#include "scheduler/core/model/jobs/decided.h"
#include "scheduler/core/model/state.h"

/* gw_sched_task_end_take_back asks the worker of a queue to return the short attempts that it has
 * not begun, if long attempts hold all resources of this queue. */
void gw_sched_task_end_take_back(struct gw_sched *sched, const struct gw_worker_queue *lane);

/* gw_sched_task_end decides about a task whose attempt did not end well. The task is queued again
 * (at once or after a delay), or fails, or is cancelled. */
void gw_sched_task_end(struct gw_sched *sched, const struct gw_task_end_cause *task_end);

/* gw_sched_task_end_preemptions_max returns how many times a task may be preempted and still be
 * started again. */
uint32_t gw_sched_task_end_preemptions_max(const struct gw_spec *spec);

/* gw_sched_task_end_badly removes an attempt that did not end well from its worker. If only this
 * attempt was fetching an input, that input is released at the worker. run_ns is the run time, if
 * it helps to forecast other tasks of this kind. Otherwise run_ns is 0. */
void gw_sched_task_end_badly(struct gw_sched *sched, uint32_t slot, uint64_t run_ns);

/* gw_sched_task_end_cancelled ends a cancelled task that has no attempt any more. If the task is to
 * run again, it is queued instead. */
void gw_sched_task_end_cancelled(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_end_actor_stood returns true if the actor of a job was alive. In that case the end
 * of its attempt loses the actor's state, so only the restarts that the user allowed permit another
 * attempt. */
bool gw_sched_task_end_actor_stood(const struct gw_job *job);

/* gw_sched_task_end_actor_again marks a living actor as restarting. Call it before the actor's task
 * is queued again. */
void gw_sched_task_end_actor_again(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_task_end_actor_well ends the task of an actor well and returns true, if the actor was
 * asked to end. Otherwise it returns false. */
bool gw_sched_task_end_actor_well(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_task_end_done ends a task successfully with its results. */
void gw_sched_task_end_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            const struct gw_results *results);

#endif
