/* The state of a job as people see it. */
#ifndef GW_SCHEDULER_CORE_JOB_STATE_H
#define GW_SCHEDULER_CORE_JOB_STATE_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/running.h"

/* gw_job_rows_state is a job's state as people say it. runs may be NULL for a job that has ended.
 */
const char *gw_job_rows_state(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_running *runs);

#endif
