/* Ranges: jobs of many tasks that differ by a number. Rows are made as workers get hungry, and
 * given back, a block at a time, once nobody can ask for them. */
#ifndef GW_SCHEDULER_CORE_RANGE_H
#define GW_SCHEDULER_CORE_RANGE_H

#include "scheduler/core/state.h"

/* gw_sched_range_check: GW_EINVAL, GW_ENOENT, GW_EPERM, GW_ELIMIT, as chunk.h says. */
int gw_sched_range_check(const struct gw_sched *sched, const struct gw_job *job,
                         const struct gw_msg_range *range, struct gw_error *error);

/* gw_sched_ranges_feed makes rows for ranges of which few are left to be placed; true when there
 * are new ones to settle and place. gw_sched_ranges_settle gives blocks back, and stops ranges
 * that are to end at their first failure. */
bool gw_sched_ranges_feed(struct gw_sched *sched);
void gw_sched_ranges_settle(struct gw_sched *sched);

/* gw_sched_range_give_up remembers that nobody wants the result of a row that is not made yet; does
 * nothing for other rows. GW_EPROTO: so many that lie so far apart are not remembered. */
int gw_sched_range_give_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_range_cancel_row cancels a row that is to come. GW_ELIMIT: so many that lie so far apart
 * are not remembered. */
int gw_sched_range_cancel_row(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_error *error);

/* gw_sched_range_stop cancels the rows that are not made yet. */
void gw_sched_range_stop(struct gw_sched *sched, struct gw_job *job);

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

/* gw_sched_range_is_to_come tells whether a row is one of those. */
static inline bool gw_sched_range_is_to_come(const struct gw_job *job, uint32_t row)
{
    return gw_sched_range_grows(job) && row >= job->tasks.count && row < job->range->count;
}

/* For apply functions: a row ended, was opened again, or lost the last who could ask for it; all do
 * nothing for other jobs. catch_up makes the rows up to `row`, which a durable fact is about. */
void gw_sched_range_row_ended(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_range_row_reopened(struct gw_job *job, uint32_t row);
void gw_sched_range_row_closed(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_range_row_placed(struct gw_sched *sched, struct gw_job *job);
/* gw_sched_range_full tells whether as many rows of a job are placed as its range lets: those that
 * are run again come on top of those that were made since. */
static inline bool gw_sched_range_full(const struct gw_job *job)
{
    return job->range && job->placed >= job->range->limit && !GW_PLANTED(500);
}
void gw_sched_range_catch_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

void gw_sched_range_free(struct gw_job *job);

#endif
