/* Look-ups in the columns of the tasks of a job. */
#ifndef GW_SCHEDULER_CORE_COLUMNS_H
#define GW_SCHEDULER_CORE_COLUMNS_H

#include "scheduler/core/model/state.h"

/* Encoding of a dependency. A plain number is a row of the same job whose result is used (rank 0).
 * With the bit GW_EDGE_AFTER, no result is used, only the order matters. With the bit GW_EDGE_FAR,
 * the number is an index into tasks->far, which holds all other dependencies. */
#define GW_EDGE_FAR (UINT32_C(1) << 31)
#define GW_EDGE_AFTER (UINT32_C(1) << 30)

/* gw_sched_rows_in_all returns the number of tasks of a job, including those of a range that are
 * not created yet. */
static inline uint32_t gw_sched_rows_in_all(const struct gw_job *job)
{
    return job->range ? job->range->count : job->tasks.count;
}

/* gw_sched_row_next returns the first row, from `row` on, that was not freed. Use it to walk the
 * rows of a job: `for (row = next(job, 0); row < job->tasks.count; row = next(job, row + 1))`. */
static inline uint32_t gw_sched_row_next(const struct gw_job *job, uint32_t row)
{
    const struct gw_range *range = job->range;
    if (!range || !range->retires)
        return row;
    if (row / range->block < range->low)
        row = range->low * range->block;
    while (row < job->tasks.count && job->tasks.state[row] == GW_TASK_RETIRED)
        row = (row / range->block + 1) * range->block;
    return row;
}

/* gw_sched_task_satisfied returns true if the task ended well. gw_sched_task_final returns true if
 * it ended. */
static inline bool gw_sched_task_satisfied(const struct gw_job *job, uint32_t row)
{
    uint8_t state = job->tasks.state[row];
    return state == GW_TASK_DONE || state == GW_TASK_RELEASED || state == GW_TASK_RETIRED;
}

static inline bool gw_sched_task_final(const struct gw_job *job, uint32_t row)
{
    uint8_t state = job->tasks.state[row];
    return (state >= GW_TASK_DONE && state <= GW_TASK_CANCELLED) || state == GW_TASK_RETIRED;
}

/* gw_sched_deps_end returns the index after the last dependency of a row. */
static inline uint32_t gw_sched_deps_end(const struct gw_tasks *tasks, uint32_t row)
{
    return row + 1 < tasks->count && !tasks->shared_deps ? tasks->deps_at[row + 1] : tasks->edges;
}

/* gw_sched_edge returns a dependency, decoded. */
static inline struct gw_edge gw_sched_edge(const struct gw_tasks *tasks, uint32_t edge)
{
    uint32_t from = tasks->dep[edge];
    if (from & GW_EDGE_FAR)
        return tasks->far.items[from & ~GW_EDGE_FAR];
    return (struct gw_edge){0, from & ~GW_EDGE_AFTER, from & GW_EDGE_AFTER ? GW_DEP_AFTER : 0};
}

#endif
