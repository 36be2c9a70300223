/* Jobs are accepted, paused, compacted, end and go. */
#ifndef GW_SCHEDULER_CORE_CHANGES_JOB_H
#define GW_SCHEDULER_CORE_CHANGES_JOB_H

#include "scheduler/core/model/state.h"

/* gw_sched_job_free takes a job out of all lists and frees it with all that it owns. */
void gw_sched_job_free(struct gw_sched *sched, struct gw_job *job);

#endif
