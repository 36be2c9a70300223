/* Retries that a user asks for.
 *
 * Rows that failed or were cancelled are opened again with fresh retry budgets, together with the
 * failed rows that they depend on. In a detached range every row can be retried, also a row that
 * was cancelled before it was made: it is made now. In a range that is not detached, only rows that
 * its client still holds can be retried. */
#include "scheduler/core/lifecycle/retry.h"

#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"

static bool ended_badly(const struct gw_job *job, uint32_t row)
{
    return job->tasks.state[row] == GW_TASK_FAILED || job->tasks.state[row] == GW_TASK_CANCELLED;
}

static int inputs_gone(const struct gw_job *job, struct gw_error *error)
{
    return gw_error_set(error, GW_ENOENT, "job %llu cannot be retried: %s; submit it as a new job",
                        (unsigned long long)job->id,
                        job->detached ? "it has ended, and its inputs are no longer stored"
                                      : "it was not detached (-d), so it has lost its inputs");
}

static int check_job(const struct gw_job *job, struct gw_error *error)
{
    if (job->compacted)
        return inputs_gone(job, error);
    if (job->actor)
        return gw_error_set(error, GW_EINVAL,
                            "job %llu is an actor and cannot be retried: make a new actor",
                            (unsigned long long)job->id);
    return 0;
}

static int check_row(const struct gw_job *job, uint32_t row, struct gw_error *error)
{
    int rc = check_job(job, error);
    if (rc < 0)
        return rc;
    if ((job->tasks.flags[row] & GW_TASK_CLOSED) && !job->detached)
        return inputs_gone(job, error);
    if (!ended_badly(job, row) && !(job->tasks.flags[row] & GW_TASK_TOLD_FAILED) &&
        !gw_sched_share_failed(job, row))
        return gw_error_set(error, GW_EINVAL,
                            "task %u of job %llu has not failed: only a failed task can be retried",
                            row, (unsigned long long)job->id);
    return 0;
}

/* Retries all tasks that failed or were cancelled. In a job that is not detached, only tasks that
 * are still held or needed are retried. Returns the number of tasks. */
static uint32_t retry_all(struct gw_sched *sched, struct gw_job *job, struct gw_error *error)
{
    uint32_t tasks = 0;
    if (job->range && !job->detached) {
        gw_error_set(
            error, GW_ENOTSUP,
            "job %llu is a range that is not detached, so it cannot be retried as a whole: submit "
            "the failed numbers as a new job",
            (unsigned long long)job->id);
        return 0;
    }
    if (job->range && job->range->ended && job->tasks.count < job->range->count) {
        tasks += job->range->count - job->tasks.count;
        GW_FACT(sched, range_resumed, .at = job, .job = job->id);
    }
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        if (!ended_badly(job, row) || (!job->detached && job->tasks.users[row] == 0))
            continue;
        gw_sched_retry(sched, job, row);
        tasks++;
    }
    if (tasks == 0)
        gw_error_set(error, GW_EINVAL, "job %llu has no failed task, so there is nothing to retry",
                     (unsigned long long)job->id);
    return tasks;
}

/* Makes and retries a task of a range that was cancelled before it was made. The tasks before it
 * are made, too, and stay cancelled. */
static uint32_t retry_unbegun(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_error *error)
{
    uint32_t first = job->tasks.count;
    const struct gw_cancel cancel = {.reason = GW_KILL_CANCEL};
    if (row - first > GW_RANGE_UNBEGUN_MAX) {
        gw_error_set(
            error, GW_ELIMIT,
            "task %u of job %llu cannot be retried alone, because its index is too far from those "
            "of the running tasks: retry the whole job, or submit this number as a new job",
            row, (unsigned long long)job->id);
        return 0;
    }
    GW_FACT(sched, range_resumed, .at = job, .job = job->id);
    gw_sched_range_grow(sched, job, row + 1 - first);
    for (uint32_t before = first; before < row; before++)
        gw_sched_cancel_task(sched, job, before, &cancel);
    GW_FACT(sched, range_stopped, .at = job, .job = job->id, .made = job->tasks.count);
    return 1;
}

void gw_sched_on_retry(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_retry *message)
{
    struct gw_job *job = gw_sched_job_find(sched, message->job);
    struct gw_error error = {0};
    uint32_t uid = gw_sched_access_uid(session->remote, job), row = message->index, tasks = 0;
    int rc = gw_sched_access_job(job, message->job, uid, &error);
    if (rc == 0 && row == GW_INDEX_ALL) {
        if (check_job(job, &error) == 0)
            tasks = retry_all(sched, job, &error);
    } else if (rc == 0 && job->detached && job->range && job->range->ended &&
               row >= job->tasks.count && row < job->range->count) {
        tasks = retry_unbegun(sched, job, row, &error);
    } else if (rc == 0 && gw_sched_access_row(job, message->job, row, uid, &error) == 0 &&
               check_row(job, row, &error) == 0) {
        gw_sched_retry(sched, job, row);
        tasks = 1;
    }
    gw_sched_notify_request(
        sched, session->remote, job,
        &(struct gw_acknowledgement){.request = message->request, .tasks = tasks, .counted = true},
        &error);
}

void gw_sched_retry_reopen(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint32_t retry)
{
    gw_sched_outbox_release_task(sched, job, row);
    GW_FACT(sched, task_reopened, .at = job, .job = job->id, .index = row, .retry = retry);
}

void gw_sched_retry_run_again(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              uint32_t retry)
{
    struct gw_charges charges = {.tries = job->tasks.charges[row].tries};
    GW_FACT(sched, task_charges, .at = job, .job = job->id, .index = row, .charges = charges);
    gw_sched_retry_reopen(sched, job, row, retry);
}

void gw_sched_retry(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint8_t state = job->tasks.state[row];
    if (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED) {
        gw_sched_shares_retell(sched, job, row);
        gw_sched_retry_run_again(sched, job, row, 1);
        return;
    }
    /* The task already runs or ran again because another task needs it. Only the announcements to
     * clients must be sent again. */
    if (job->tasks.flags[row] & GW_TASK_TOLD_FAILED)
        gw_sched_task_told(job, row, 0);
    gw_sched_shares_retell(sched, job, row);
    gw_sched_notify_task(sched, job, row);
}
