/* Tasks: the table of a job's rows, and how one row moves. See facts.def for what moves it. */
#ifndef GW_SCHEDULER_CORE_JOBS_TASK_H
#define GW_SCHEDULER_CORE_JOBS_TASK_H

#include "scheduler/core/model/state.h"

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

/* gw_sched_tasks_compact frees what only running a task again would need. */
void gw_sched_tasks_compact(struct gw_tasks *tasks);

/* gw_sched_task_use and gw_sched_task_unuse count a row's inputs as needed by it, or no more. */
void gw_sched_task_use(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_task_unuse(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_awaited tells whether a task that has not ended waits for a row. */
bool gw_sched_task_awaited(const struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_label writes what a person calls the task: its name, else its function or command.
 */
void gw_sched_task_label(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes);

/* gw_sched_task_failure_of gives why a task failed, NULL when it did not. Borrowed.
 * gw_sched_task_failure_new makes one with one reference. */
struct gw_failure *gw_sched_task_failure_of(const struct gw_job *job, uint32_t row);
struct gw_failure *gw_sched_task_failure_new(int32_t code, const char *text);
void gw_sched_task_failure_unref(struct gw_failure *failure);

/* gw_sched_task_set_window keeps the window of a spec, as it is for its samples and all slots. */
static inline uint32_t gw_sched_task_set_window(const struct gw_sched *sched, struct gw_spec *spec,
                                                uint32_t window)
{
    spec->window_samples = spec->samples;
    spec->window_slots = sched->slots;
    return spec->window = window;
}

#endif
