/* Finds out which of the tasks at workers have begun, as listings count running tasks.
 *
 * Workers receive short tasks ahead of time. A worker sends `started` only for tasks that run
 * longer than a moment, because a message for each short task would cost too much. So of the short
 * tasks in a worker queue, as many count as running as there are slots debited for them, the oldest
 * first. Tasks with a debit of their own (long tasks, gangs, and tasks that reported their start)
 * count as running. The result is computed only on request. */
#ifndef GW_SCHEDULER_CORE_RUNNING_H
#define GW_SCHEDULER_CORE_RUNNING_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

struct gw_running {
    uint8_t *runs;       /* by slot of the attempt table */
    struct gw_map tasks; /* job id -> number of running tasks; jobs with none are missing */
    struct gw_map used;  /* job id -> index into `usages` */
    GW_ARRAY(struct gw_job_usage) usages;
};

/* gw_running_init looks at all attempts. The result is valid until the next step. The caller must
 * deinit it. */
void gw_running_init(struct gw_running *running, const struct gw_sched *sched);
void gw_running_deinit(struct gw_running *running);

/* gw_running_job returns how many tasks of a job run. A task that is being cancelled counts until
 * its end. */
uint32_t gw_running_job(const struct gw_running *running, const struct gw_job *job);

/* gw_running_all returns how many tasks of all jobs run. */
uint64_t gw_running_all(const struct gw_running *running);

/* gw_running_usage adds the usage so far of the running tasks of a job. */
void gw_running_usage(const struct gw_running *running, const struct gw_job *job,
                      struct gw_job_usage *usage);

/* gw_running_row returns true if a task runs. A gang counts as running from its placement on. */
bool gw_running_row(const struct gw_running *running, const struct gw_sched *sched,
                    const struct gw_job *job, uint32_t row);

/* gw_running_worker returns how many tasks and ranks run at a worker. */
uint32_t gw_running_worker(const struct gw_running *running, const struct gw_sched *sched,
                           const struct gw_worker *worker);

/* gw_running_state returns the state of a job as listings show it. runs may be NULL for a job that
 * has ended. */
const char *gw_running_state(const struct gw_sched *sched, const struct gw_job *job,
                             const struct gw_running *runs);

/* gw_running_rows fills a page with running tasks, worker by worker, the oldest task of each worker
 * first. The cursor of the page counts rows. */
void gw_running_rows(const struct gw_sched *sched, struct gw_page *page);

#endif
