/* Retries that a user asks for: tasks that failed or were cancelled run again. */
#ifndef GW_SCHEDULER_CORE_RETRY_H
#define GW_SCHEDULER_CORE_RETRY_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_retry retries one task, or all tasks of a job that failed or were cancelled. The
 * reply says how many. */
void gw_sched_on_retry(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_retry *message);

/* gw_sched_retry retries a task that failed, or whose client was told that it failed. Its retry
 * budgets start anew. Failed tasks that it depends on are retried as well. */
void gw_sched_retry(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_retry_reopen releases the results of an ended task and makes the task wait or run again.
 * Its retry budgets keep what was used. */
void gw_sched_retry_reopen(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                           uint32_t retry);

/* gw_sched_retry_run_again does the same and resets the retry budgets, but not the restart count.
 */
void gw_sched_retry_run_again(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              uint32_t retry);

#endif
