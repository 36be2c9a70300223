/* Jobs that start after other jobs have ended. */

#include "scheduler/core/lifecycle/gate.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"

#include <stdio.h>

/* Fails all waiting rows of a job because a preceding job failed. The first row gets the text of
 * the failure, the other rows name the first row as their cause. */
static void fail_all(struct gw_sched *sched, struct gw_job *job)
{
    char text[GW_ERROR_TEXT_MAX];
    const struct gw_job *before = gw_sched_job_find(sched, job->gate_failed);
    const struct gw_failure *cause = before ? before->first_failure : NULL;
    (void)snprintf(text, sizeof text, "job %llu, for which this job waits, did not succeed%s%s",
                   (unsigned long long)job->gate_failed, cause ? ": " : "",
                   cause ? cause->text : "");
    uint32_t first = GW_NO_INDEX;
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        if (job->tasks.state[row] != GW_TASK_WAITING)
            continue;
        bool other = first != GW_NO_INDEX;
        GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_FAILED,
                .code = GW_EDEPENDENCY, .text = other ? "" : text, .cause_job = other ? job->id : 0,
                .cause_index = other ? first : 0);
        gw_sched_notify_task(sched, job, row);
        first = other ? first : row;
    }
    if (job->tasks.count > 0)
        gw_sched_range_stop(sched, job);
    /* No further task can fail because of this gate. From now on, a task that a user retries runs
     * without waiting for the preceding job. */
    if (job->state != GW_JOB_OPEN && !gw_sched_range_grows(job))
        gw_sched_tasks_open_gate(sched, job);
}

void gw_sched_gates_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->ungated.count; i++) {
        struct gw_job *job = gw_sched_job_find(sched, sched->ungated.items[i]);
        if (!job || !job->gated)
            continue;
        if (job->gate_failed)
            fail_all(sched, job);
        else if (job->gates == 0)
            gw_sched_tasks_open_gate(sched, job);
    }
    gw_sched_noted_ungated(sched);
}
