/* Tasks: the table of a job's rows, and the states of a row. facts.def lists the facts that change
 * them. */
#ifndef GW_SCHEDULER_CORE_JOBS_TASK_H
#define GW_SCHEDULER_CORE_JOBS_TASK_H

#include "scheduler/core/model/state.h"

/* gw_sched_tasks_reserve makes room for `extra` more tasks and `edges` more dependencies. */
void gw_sched_tasks_reserve(struct gw_tasks *tasks, uint32_t extra, uint32_t edges);
void gw_sched_tasks_deinit(struct gw_tasks *tasks);

/* gw_sched_tasks_map creates a table of `rows` rows in lazily committed memory: rows that are never
 * written take no memory. It returns false if no address space is left (gw_sched_tasks_may_map
 * checks this before). gw_sched_tasks_forget frees the memory of `rows` rows from `first` on (both
 * multiples of 4096). They read as zero then. */
bool gw_sched_tasks_map(struct gw_tasks *tasks, uint32_t rows);
bool gw_sched_tasks_may_map(uint32_t rows);
void gw_sched_tasks_forget(struct gw_tasks *tasks, uint32_t first, uint32_t rows);

/* gw_sched_tasks_compact frees what only running a task again would need. */
void gw_sched_tasks_compact(struct gw_tasks *tasks);

/* gw_sched_task_use counts a task as a user of its inputs. gw_sched_task_unuse undoes this. */
void gw_sched_task_use(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_task_unuse(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_awaited returns true if a task that has not ended depends on the task. */
bool gw_sched_task_awaited(const struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_label writes the label of a task for people: its name, else its function or
 * command. */
void gw_sched_task_label(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes);

/* gw_sched_task_failure_of returns why a task failed, or NULL if it did not. Borrowed.
 * gw_sched_task_failure_new creates a failure with one reference. */
struct gw_failure *gw_sched_task_failure_of(const struct gw_job *job, uint32_t row);
struct gw_failure *gw_sched_task_failure_new(int32_t code, const char *text);
void gw_sched_task_failure_unref(struct gw_failure *failure);
/* gw_sched_task_failure_exit_code returns the exit code of `gangway wait` for a failure. */
int32_t gw_sched_task_failure_exit_code(const struct gw_failure *failure);

/* gw_sched_task_set_window stores the prefetch window of a spec together with the numbers of
 * samples and slots for which it was computed. */
static inline uint32_t gw_sched_task_set_window(const struct gw_sched *sched, struct gw_spec *spec,
                                                uint32_t window)
{
    spec->window_samples = spec->samples;
    spec->window_slots = sched->slots;
    return spec->window = window;
}

/* These functions record changes of a task. gw_sched_task_requeue: its attempt ended, and the task
 * will run again. gw_sched_task_rerun: the task will (`wanted`) or will not run again as soon as
 * its attempt has ended. gw_sched_task_told: its client was informed of its end (flags
 * GW_TASK_TOLD...). */
void gw_sched_task_cancelling(struct gw_sched *sched, struct gw_job *job, uint32_t index);
void gw_sched_task_requeue(struct gw_sched *sched, struct gw_job *job, uint32_t index);
void gw_sched_task_rerun(struct gw_job *job, uint32_t index, bool wanted);
void gw_sched_task_told(struct gw_job *job, uint32_t index, uint32_t told);

#endif
