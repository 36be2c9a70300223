/* Jobs: their end, freeing their tasks (compaction), and forgetting them. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_JOB_H
#define GW_SCHEDULER_CORE_LIFECYCLE_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_jobs_settle ends the jobs whose last task has ended. gw_sched_jobs_tidy runs at the end
 * of a step. It frees what ended jobs no longer need and forgets the oldest jobs if the history is
 * too long. If a forgotten job was the last to need a result, it returns early; the caller settles
 * that result and calls it again. */
void gw_sched_jobs_settle(struct gw_sched *sched);
void gw_sched_jobs_tidy(struct gw_sched *sched);

/* gw_sched_job_remove forgets an ended job and tells the workers to remove its files. The job is
 * freed. GW_EINVAL: it has not ended, or something may still need it. */
int gw_sched_job_remove(struct gw_sched *sched, struct gw_job *job, struct gw_error *error);

/* gw_sched_on_orphaned_files handles a worker's list of jobs of which it still has files. The reply
 * names the jobs that the scheduler does not know any more. */
void gw_sched_on_orphaned_files(struct gw_sched *sched, const struct gw_worker *worker,
                                const struct gw_msg_orphaned_files *message);

#endif
