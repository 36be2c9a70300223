/* Paused jobs: nothing of one starts. What is at workers runs to its end, or is asked to end. */
#ifndef GW_SCHEDULER_CORE_PAUSE_H
#define GW_SCHEDULER_CORE_PAUSE_H

#include "scheduler/core/model/state.h"

#include <gangway/error.h>

/* gw_sched_pause_job has nothing of a job start until gw_sched_pause_over. by: who wants it, for
 * people. GW_EINVAL where that cannot be, or (over) the job is not paused. */
int gw_sched_pause_job(struct gw_sched *sched, struct gw_job *job, const char *by,
                       struct gw_error *error);
int gw_sched_pause_over(struct gw_sched *sched, struct gw_job *job, const char *by,
                        struct gw_error *error);

#endif
