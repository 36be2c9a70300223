/* Tasks: the table of a job's rows, and how one row moves. See facts.def for what moves it. */
#ifndef GW_SCHEDULER_CORE_TASK_H
#define GW_SCHEDULER_CORE_TASK_H

#include "scheduler/core/edge.h"
#include "scheduler/core/state.h"

/* gw_sched_tasks_reserve makes room for `extra` more rows and `edges` more edges. */
void gw_sched_tasks_reserve(struct gw_tasks *tasks, uint32_t extra, uint32_t edges);
void gw_sched_tasks_deinit(struct gw_tasks *tasks);

/* gw_sched_tasks_map makes the table for `rows` rows at once, in lazy memory: rows that are never
 * written cost nothing. False where addresses have run out (may_map tells before).
 * gw_sched_tasks_forget gives back the memory of `rows` rows from `first` (both multiples of 4096):
 * they read as zero. */
bool gw_sched_tasks_map(struct gw_tasks *tasks, uint32_t rows);
bool gw_sched_tasks_may_map(uint32_t rows);
void gw_sched_tasks_forget(struct gw_tasks *tasks, uint32_t first, uint32_t rows);

/* gw_sched_rows_in_all is the number of a job's tasks, those of a range that are not made yet too.
 */
static inline uint32_t gw_sched_rows_in_all(const struct gw_job *job)
{
    return job->range ? job->range->count : job->tasks.count;
}

/* gw_sched_row_next is the first row from `row` on that was not given back: walk a job's rows by it
 * (`for (row = next(job, 0); row < job->tasks.count; row = next(job, row + 1))`). */
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

/* gw_sched_tasks_compact frees what only running a task again would need. */
void gw_sched_tasks_compact(struct gw_tasks *tasks);

/* gw_sched_task_satisfied: it ended well. gw_sched_task_final: it ended. */
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

/* gw_sched_task_ready puts a waiting task with nothing before it into its queue. */
void gw_sched_task_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_queue is the queue where a task belongs. */
struct gw_queue *gw_sched_task_queue(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_use and gw_sched_task_unuse count a row's inputs as needed by it, or no more. */
void gw_sched_task_use(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_task_unuse(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_awaited tells whether a task that has not ended waits for a row. */
bool gw_sched_task_awaited(const struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_label writes what a person calls the task: its name, else its function or command.
 */
void gw_sched_task_label(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes);

/* gw_sched_failure_of gives why a task failed, NULL when it did not. Borrowed. gw_sched_failure_new
 * makes one with one reference. */
struct gw_failure *gw_sched_failure_of(const struct gw_job *job, uint32_t row);
struct gw_failure *gw_sched_failure_new(int32_t code, const char *text);
void gw_sched_failure_unref(struct gw_failure *failure);

#endif
