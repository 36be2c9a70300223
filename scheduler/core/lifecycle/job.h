/* Jobs end, are compacted and are forgotten. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_JOB_H
#define GW_SCHEDULER_CORE_LIFECYCLE_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_jobs_settle ends the jobs whose last task has ended. gw_sched_jobs_tidy, at the end of a
 * step, frees what ended jobs will never need again, and forgets the oldest of too many. */
void gw_sched_jobs_settle(struct gw_sched *sched);
void gw_sched_jobs_tidy(struct gw_sched *sched);

/* gw_sched_on_leftovers answers a worker with those of these jobs that are not known any more. */
void gw_sched_on_leftovers(struct gw_sched *sched, const struct gw_worker *worker,
                           const struct gw_msg_leftovers *message);

#endif
