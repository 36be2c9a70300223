/* The state of a job as people see it. */

#include "scheduler/core/view/job_state.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/view/running.h"

const char *gw_job_rows_state(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_running *runs)
{
    if (job->state == GW_JOB_OPEN)
        return "open";
    if (!gw_sched_job_shown_ended(sched, job) && job->paused)
        return job->placed > 0 ? "pausing" : "paused";
    if (!gw_sched_job_shown_ended(sched, job))
        return runs && gw_running_job(runs, job) > 0 ? "running" : "queued";
    if (job->failed > 0)
        return "failed";
    return job->cancelled_tasks > 0 ? "cancelled" : "done";
}
