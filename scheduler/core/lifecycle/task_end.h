/* Verdicts: what the end of an attempt means for its task. */
#ifndef GW_SCHEDULER_CORE_TASK_END_H
#define GW_SCHEDULER_CORE_TASK_END_H

#include "scheduler/core/model/jobs/decided.h"
#include "scheduler/core/model/state.h"

/* gw_sched_task_end_take_back asks a lane's worker for the short attempts that have no debit left
 * to inherit and were not begun. */
void gw_sched_task_end_take_back(struct gw_sched *sched, const struct gw_worker_queue *lane);

/* gw_sched_task_end decides about a task whose attempt did not end well: it runs again, at once or
 * after a delay, or fails, or is cancelled. */
void gw_sched_task_end(struct gw_sched *sched, const struct gw_task_end_cause *task_end);

/* gw_sched_task_end_preemptions_max is how often a task may be ended for others, or by its user,
 * and starts again all the same. */
uint32_t gw_sched_task_end_preemptions_max(const struct gw_spec *spec);

/* gw_sched_task_end_badly frees the place of an attempt that did not end well; what it was still
 * fetching is released at its worker. run_ns: how long it ran, where that tells how long others of
 * its kind will; else 0. */
void gw_sched_task_end_badly(struct gw_sched *sched, uint32_t slot, uint64_t run_ns);

/* gw_sched_task_end_cancelled ends a task that was told to end and has no attempt any more, or
 * queues it, if it is to run again. */
void gw_sched_task_end_cancelled(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_end_actor_stood tells whether the attempt of an actor's task that ends now had been
 * through: what is lost with it is state, and only its restarts allow another one. */
bool gw_sched_task_end_actor_stood(const struct gw_job *job);

/* gw_sched_task_end_actor_again decides that the task of an actor runs again, before that is a
 * fact. */
void gw_sched_task_end_actor_again(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_task_end_actor_well ends the task of an actor that let go of its state, if that is what
 * the end of its attempt means: true. */
bool gw_sched_task_end_actor_well(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_task_end_done ends a task well with its results. */
void gw_sched_task_end_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            const struct gw_results *results);

#endif
