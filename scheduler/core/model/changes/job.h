/* Appliers of facts about jobs. */
#ifndef GW_SCHEDULER_CORE_CHANGES_JOB_H
#define GW_SCHEDULER_CORE_CHANGES_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_job_free removes a job from all lists and frees it. */
void gw_sched_job_free(struct gw_sched *sched, struct gw_job *job);

#endif
