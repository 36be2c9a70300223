/* Ranges: jobs of many tasks that differ only by a number. Rows are created when workers need
 * tasks, and are freed in blocks when their results cannot be requested any more. */
#ifndef GW_SCHEDULER_CORE_JOBS_RANGE_H
#define GW_SCHEDULER_CORE_JOBS_RANGE_H

#include "scheduler/core/model/state.h"

/* gw_sched_range_give_up records that the result of a task that is not created yet is not wanted.
 * It does nothing for other tasks. Returns GW_EPROTO if too many separate runs of such tasks would
 * have to be recorded. */
int gw_sched_range_give_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_range_cancel_row cancels a task that is not created yet. Returns GW_ELIMIT if too many
 * separate runs of such tasks would have to be recorded. */
int gw_sched_range_cancel_row(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_error *error);

/* gw_sched_range_args writes the number of a task into a copy of the arguments that is about to be
 * sent. It does nothing for other jobs. */
void gw_sched_range_args(const struct gw_job *job, uint32_t row, uint8_t *args);

/* gw_sched_range_row_state returns the state of a task that was freed or is not created yet:
 * GW_TASK_DONE, FAILED, CANCELLED or WAITING. */
uint32_t gw_sched_range_row_state(const struct gw_job *job, uint32_t row);

/* gw_sched_row_live returns true if the row exists in the job's table. */
static inline bool gw_sched_row_live(const struct gw_job *job, uint32_t row)
{
    return row < job->tasks.count && job->tasks.state[row] != GW_TASK_RETIRED;
}

/* gw_sched_range_grows returns true if more tasks of the range will be created. */
static inline bool gw_sched_range_grows(const struct gw_job *job)
{
    return job->range && !job->range->ended && job->tasks.count < job->range->count;
}

/* gw_sched_range_is_open returns true if the client of a range may still request its results, and
 * files and checkpoints of its tasks. */
static inline bool gw_sched_range_is_open(const struct gw_job *job)
{
    return job->range && job->range->results && !job->range->closed;
}

/* gw_sched_range_is_to_come returns true if the task will be created later. */
static inline bool gw_sched_range_is_to_come(const struct gw_job *job, uint32_t row)
{
    return gw_sched_range_grows(job) && row >= job->tasks.count && row < job->range->count;
}

/* Only for use in model/. These functions record that a task of a range has ended, will run again
 * (reopened), can no longer be requested by its client (closed), or was placed. They do nothing
 * for jobs that are not ranges. */
void gw_sched_range_row_ended(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_range_row_reopened(struct gw_job *job, uint32_t row);
void gw_sched_range_row_closed(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_range_row_placed(struct gw_sched *sched, struct gw_job *job);
/* gw_sched_range_full returns true if a range has as many placed tasks as its limit allows. Tasks
 * that run again are created in addition to the limit, so the limit is checked again at placement.
 */
static inline bool gw_sched_range_full(const struct gw_job *job)
{
    return job->range && job->placed >= job->range->limit;
}

/* gw_sched_range_free frees the range of a job. It does nothing for other jobs. */
void gw_sched_range_free(struct gw_job *job);

/* gw_sched_range_least returns the smaller number. */
uint32_t gw_sched_range_least(uint32_t a, uint32_t b);

/* gw_sched_range_use_inputs adds or (use false) removes the range itself as a user of its inputs.
 * In the latter case the step releases inputs that no task uses. Only for use in model/. */
void gw_sched_range_use_inputs(struct gw_sched *sched, struct gw_job *job, bool use);

/* gw_sched_range_take_failure returns true, once, if a range must stop because a task has failed.
 */
static inline bool gw_sched_range_take_failure(struct gw_range *range)
{
    const bool failed = range->failed;
    range->failed = false;
    return failed;
}

/* gw_sched_range_retire frees a block of tasks that have ended. gw_sched_range_close records that
 * the client of a range asks for nothing more of it. */
void gw_sched_range_add(struct gw_sched *sched, struct gw_job *job,
                        const struct gw_msg_range *message);
void gw_sched_range_close(struct gw_sched *sched, struct gw_job *job);
void gw_sched_range_retire(struct gw_job *job, uint32_t block);

#endif
