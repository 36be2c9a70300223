/* Ranges: jobs of many tasks that differ by a number. Rows are made as workers get hungry, and
 * given back, a block at a time, once nobody can ask for them. */
#ifndef GW_SCHEDULER_CORE_JOBS_RANGE_H
#define GW_SCHEDULER_CORE_JOBS_RANGE_H

#include "scheduler/core/model/state.h"

/* gw_sched_range_give_up remembers that nobody wants the result of a row that is not made yet; does
 * nothing for other rows. GW_EPROTO: so many that lie so far apart are not remembered. */
int gw_sched_range_give_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_range_cancel_row cancels a row that is to come. GW_ELIMIT: so many that lie so far apart
 * are not remembered. */
int gw_sched_range_cancel_row(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_error *error);

/* gw_sched_range_args writes a row's own number into the copy of its arguments that is to be sent;
 * does nothing for other jobs. */
void gw_sched_range_args(const struct gw_job *job, uint32_t row, uint8_t *args);

/* gw_sched_range_row_state is how a row ended that was given back, or that of one that is not made:
 * GW_TASK_DONE, FAILED, CANCELLED or WAITING. */
uint32_t gw_sched_range_row_state(const struct gw_job *job, uint32_t row);

/* gw_sched_row_live tells whether a row has a place in the job's table. */
static inline bool gw_sched_row_live(const struct gw_job *job, uint32_t row)
{
    return row < job->tasks.count && job->tasks.state[row] != GW_TASK_RETIRED;
}

/* gw_sched_range_grows tells whether rows of a range are still to be made. */
static inline bool gw_sched_range_grows(const struct gw_job *job)
{
    return job->range && !job->range->ended && job->tasks.count < job->range->count;
}

/* gw_sched_range_is_open tells whether a range's results are its client's: it may ask for what is
 * beside them (files, checkpoints) when it has taken all. */
static inline bool gw_sched_range_is_open(const struct gw_job *job)
{
    return job->range && job->range->results && !job->range->closed;
}

/* gw_sched_range_is_to_come tells whether a row is one of those. */
static inline bool gw_sched_range_is_to_come(const struct gw_job *job, uint32_t row)
{
    return gw_sched_range_grows(job) && row >= job->tasks.count && row < job->range->count;
}

/* For apply functions: a row ended, was opened again, lost the last who could ask for it, or was
 * placed; all do nothing for other jobs. */
void gw_sched_range_row_ended(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_range_row_reopened(struct gw_job *job, uint32_t row);
void gw_sched_range_row_closed(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_range_row_placed(struct gw_sched *sched, struct gw_job *job);
/* gw_sched_range_full tells whether as many rows of a job are placed as its range lets: those that
 * are run again come on top of those that were made since. */
static inline bool gw_sched_range_full(const struct gw_job *job)
{
    return job->range && job->placed >= job->range->limit;
}

/* gw_sched_range_free frees a job's range and what it owns; does nothing for other jobs. */
void gw_sched_range_free(struct gw_job *job);

/* gw_sched_range_least returns the smaller number. */
uint32_t gw_sched_range_least(uint32_t a, uint32_t b);

/* gw_sched_range_use_inputs counts the inputs of a range as used by the range itself, or (use
 * false) no more: the step then releases those that no task uses. For apply functions. */
void gw_sched_range_use_inputs(struct gw_sched *sched, struct gw_job *job, bool use);

/* gw_sched_range_take_failure tells, once, whether a range is to stop because a row failed. */
static inline bool gw_sched_range_take_failure(struct gw_range *range)
{
    const bool failed = range->failed;
    range->failed = false;
    return failed;
}

#endif
