/* Cancelling and retrying.
 *
 * A task at a worker is cancelled when its worker says that nothing of it is left: until then its
 * slot is not free. Whatever it says then, it was cancelled. */
#include "scheduler/core/cancel.h"

#include "scheduler/core/announce.h"
#include "scheduler/core/attempt.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/range.h"
#include "scheduler/core/remote.h"
#include "scheduler/core/settle.h"
#include "scheduler/core/share.h"
#include "scheduler/core/story.h"
#include "scheduler/core/task.h"

#include <stdio.h>

static uint64_t grace_of(const struct gw_spec *spec, const struct gw_cancel *cancel)
{
    if (cancel->hard)
        return 0;
    if (cancel->reason == GW_KILL_SESSION) /* nobody is left to see what a long grace would save */
        return spec->message.fail_grace_ns ? spec->message.fail_grace_ns : GW_FAIL_GRACE_NS;
    return spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
}

static void kill_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                      const struct gw_cancel *cancel)
{
    uint64_t grace_ns = grace_of(&job->specs.items[job->tasks.spec[row]], cancel);
    struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
    if (gang) {
        struct gw_end end = {
            .outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED, .text = "cancelled"};
        gw_sched_gang_kill(sched, gang, &(struct gw_gang_kill){grace_ns, cancel->reason, &end});
        return;
    }
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    gw_sched_send_kill(sched, attempt->worker,
                       &(struct gw_kill_row){attempt->id, grace_ns, cancel->reason});
    GW_FACT(sched, attempt_killed, .slot = slot, .hard = cancel->hard);
}

/* Of use in later lives alone: this one knows by the state of the task. */
void gw_sched_apply_cancel_wanted(struct gw_sched *sched, const struct gw_fact_cancel_wanted *fact)
{
    if (!sched->restoring)
        return;
    struct gw_job *job = gw_sched_job_find(sched, fact->job);
    gw_sched_range_catch_up(sched, job, fact->index);
    uint16_t *flags = &job->tasks.flags[fact->index];
    *flags = (uint16_t)(fact->wanted ? *flags | GW_TASK_CANCELS : *flags & ~GW_TASK_CANCELS);
}

void gw_sched_cancel_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_cancel *cancel)
{
    switch (job->tasks.state[row]) {
    case GW_TASK_WAITING:
    case GW_TASK_READY:
        GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row,
                .state = GW_TASK_CANCELLED, .code = GW_ECANCELLED, .text = "cancelled");
        gw_sched_announce_task(sched, job, row);
        break;
    case GW_TASK_PLACED:
    case GW_TASK_HANDED:
        GW_FACT(sched, cancel_wanted, .at = job, .job = job->id, .index = row, .wanted = 1);
        GW_FACT(sched, task_cancelling, .job = job, .index = row);
        kill_task(sched, job, row, cancel);
        break;
    case GW_TASK_CANCELLING:
        if (job->tasks.flags[row] & GW_TASK_RERUN) {
            GW_FACT(sched, cancel_wanted, .at = job, .job = job->id, .index = row, .wanted = 1);
            GW_FACT(sched, task_rerun, .job = job, .index = row, .wanted = false);
        }
        if (cancel->hard)
            kill_task(sched, job, row, cancel);
        break;
    default:
        break;
    }
}

void gw_sched_cancel_job(struct gw_sched *sched, struct gw_job *job, const struct gw_cancel *cancel)
{
    if (job->unfinished == 0)
        return;
    GW_FACT(sched, job_cancelled, .job = job, .cancel = cancel);
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        gw_sched_cancel_task(sched, job, row, cancel);
    gw_sched_range_stop(sched, job);
}

void gw_sched_abandon_job(struct gw_sched *sched, struct gw_job *job,
                          const struct gw_cancel *cancel)
{
    bool cancelled = false;
    if (job->range) { /* nobody else can hold or need anything of it */
        gw_sched_cancel_job(sched, job, cancel);
        return;
    }
    for (uint32_t row = job->tasks.count; row-- > 0 && job->unfinished > 0;) {
        if (gw_sched_task_final(job, row) || job->tasks.users[row] > 0 ||
            gw_sched_task_awaited(sched, job, row))
            continue;
        if (!cancelled)
            GW_FACT(sched, job_cancelled, .job = job, .cancel = cancel);
        cancelled = true;
        gw_sched_cancel_task(sched, job, row, cancel);
    }
    if (job->paused) /* others may need more of it, also what is lost, and nobody would resume it */
        GW_FACT(sched, job_paused, .at = job, .job = job->id, .by = "the end of its client");
}

void gw_sched_apply_cancel_asked(struct gw_sched *sched, const struct gw_fact_cancel_asked *fact)
{
    gw_sched_story_cancel(sched, fact->job, fact->index, fact->cancel);
}

void gw_sched_on_cancel(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_cancel *message)
{
    struct gw_job *job = gw_sched_job_find(sched, message->job);
    char by[GW_REMOTE_WHO_MAX];
    struct gw_cancel cancel = {message->hard != 0, GW_KILL_CANCEL, by};
    struct gw_error error = {0};
    uint32_t uid = gw_sched_acts_as(session->remote, job);
    (void)gw_sched_remote_who(session->remote, by);
    if (message->index == GW_INDEX_ALL) {
        if (gw_sched_job_check(job, message->job, uid, &error) == 0)
            gw_sched_cancel_job(sched, job, &cancel);
    } else if (gw_sched_row_check(job, message->job, message->index, uid, &error) == 0) {
        if (!gw_sched_task_final(job, message->index))
            GW_FACT(sched, cancel_asked, .job = job, .index = message->index, .cancel = &cancel);
        gw_sched_cancel_task(sched, job, message->index, &cancel);
    }
    gw_sched_reply(sched, session->remote, message->request, &error);
}

void gw_sched_on_retry(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_retry *message)
{
    struct gw_job *job = gw_sched_job_find(sched, message->job);
    struct gw_error error = {0};
    uint32_t uid = gw_sched_acts_as(session->remote, job);
    if (gw_sched_row_check(job, message->job, message->index, uid, &error) == 0) {
        if (job->compacted || (job->tasks.flags[message->index] & GW_TASK_CLOSED))
            gw_error_set(&error, GW_ENOENT, "job %llu is over: what it would need is gone",
                         (unsigned long long)job->id);
        else if (job->actor)
            gw_error_set(&error, GW_EINVAL, "job %llu is an actor: make a new one",
                         (unsigned long long)job->id);
        else if (job->tasks.state[message->index] != GW_TASK_FAILED &&
                 job->tasks.state[message->index] != GW_TASK_CANCELLED &&
                 !(job->tasks.flags[message->index] & GW_TASK_TOLD_FAILED) &&
                 !gw_sched_share_failed(job, message->index))
            gw_error_set(&error, GW_EINVAL, "task %u of job %llu has not failed", message->index,
                         (unsigned long long)job->id);
        else
            gw_sched_retry(sched, job, message->index);
    }
    gw_sched_reply(sched, session->remote, message->request, &error);
}

/* All of its futures at once: what has not ended is cancelled. */
static void release_all(struct gw_sched *sched, struct gw_job *job)
{
    gw_sched_cancel_job(sched, job, &(struct gw_cancel){.reason = GW_KILL_CANCEL});
    for (uint32_t row = gw_sched_row_next(job, 0); job->held > 0 && row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (job->tasks.flags[row] & GW_TASK_HELD)
            GW_FACT(sched, task_unheld, .at = job, .job = job->id, .index = row);
}

int gw_sched_on_release(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_release *message)
{
    if (message->index.count != message->job.count)
        return GW_EPROTO;
    struct gw_job *job = NULL;
    int rc = 0;
    for (uint32_t i = 0; i < message->job.count && rc == 0; i++) {
        uint64_t id = gw_col64_at(message->job, i);
        uint32_t row = gw_col32_at(message->index, i);
        if (!job || job->id != id)
            job = gw_sched_job_find(sched, id);
        if (job && job->session == session && row == GW_INDEX_ALL)
            release_all(sched, job);
        else if (job && job->session == session && row < job->tasks.count &&
                 (job->tasks.flags[row] & GW_TASK_HELD))
            GW_FACT(sched, task_unheld, .at = job, .job = job->id, .index = row);
        else if (job && job->session == session && job->range)
            rc = gw_sched_range_give_up(sched, job, row);
    }
    return rc;
}
