/* Pipelining: a waiting task is sent in advance to the worker that makes all of its missing inputs.
 * The worker then starts it without a message to and from the scheduler in between. The resource
 * classes of the two tasks may differ. */
#ifndef GW_SCHEDULER_CORE_PIPELINING_H
#define GW_SCHEDULER_CORE_PIPELINING_H

#include "scheduler/core/model/state.h"

/* gw_sched_pipelining pipelines the tasks that may be pipelined. It is called after all ready tasks
 * have been placed. */
void gw_sched_pipelining(struct gw_sched *sched);

/* gw_sched_pipelining_recall kills the attempts that were pipelined behind a task, because the
 * result of this task does not count. */
void gw_sched_pipelining_recall(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_pipelining_check asserts that pipelined tasks that keep slots idle have been asked back
 * if another task waits. */
void gw_sched_pipelining_check(const struct gw_sched *sched);

#endif
