/* Settling: what follows from what became true, until nothing more does. */
#ifndef GW_SCHEDULER_CORE_SETTLE_H
#define GW_SCHEDULER_CORE_SETTLE_H

#include "scheduler/core/state.h"

/* gw_sched_settle decides all that is pending: failures reach what depends on them, lost results
 * are made again, results nobody needs are released, jobs end, questions are answered. */
void gw_sched_settle(struct gw_sched *sched);

/* gw_sched_retry opens a task that failed, or was told to have failed, with its charges forgiven,
 * and what failed before it. */
void gw_sched_retry(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_release_task tells holders that nobody needs a task's results, and drops its token. */
void gw_sched_release_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
