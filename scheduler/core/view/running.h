/* Which tasks run, as people count it: of what was handed to a worker, what it has begun.
 *
 * Workers are handed short tasks ahead of time and say `started` only of what runs longer than a
 * moment, for no message is worth a short one. So of the short tasks that queue there, as many run
 * as there are slots debited for them, and these are the oldest; what holds a debit of its own
 * (long tasks, gangs, what said that it started) runs. It is looked at when somebody asks, and
 * costs nothing before. */
#ifndef GW_SCHEDULER_CORE_RUNNING_H
#define GW_SCHEDULER_CORE_RUNNING_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

struct gw_running {
    uint8_t *runs;       /* by the place of an attempt */
    struct gw_map tasks; /* job -> how many of its tasks; those with none are missing */
    struct gw_map used;  /* job -> the place of what its tasks have used so far in usages */
    GW_ARRAY(struct gw_job_usage) usages;
};

/* gw_running_init looks at all attempts, for as long as no step is made; deinit it. */
void gw_running_init(struct gw_running *running, const struct gw_sched *sched);
void gw_running_deinit(struct gw_running *running);

/* gw_running_job is how many tasks of a job run; one that is being ended counts until its end. */
uint32_t gw_running_job(const struct gw_running *running, const struct gw_job *job);

/* gw_running_all is how many tasks of all jobs run. */
uint64_t gw_running_all(const struct gw_running *running);

/* gw_running_usage adds what the tasks of a job that run now have used so far. */
void gw_running_usage(const struct gw_running *running, const struct gw_job *job,
                      struct gw_job_usage *usage);

/* gw_running_row tells whether a task runs: a gang does from its placement on. */
bool gw_running_row(const struct gw_running *running, const struct gw_sched *sched,
                    const struct gw_job *job, uint32_t row);

/* gw_running_worker is how many tasks and ranks run at a worker. */
uint32_t gw_running_worker(const struct gw_running *running, const struct gw_sched *sched,
                           const struct gw_worker *worker);

/* gw_running_state is a job's state as people say it. runs may be NULL for a job that has ended.
 */
const char *gw_running_state(const struct gw_sched *sched, const struct gw_job *job,
                             const struct gw_running *runs);

/* gw_running_rows fills a page, worker by worker, the oldest of each first; its cursor counts rows.
 */
void gw_running_rows(const struct gw_sched *sched, struct gw_page *page);

#endif
