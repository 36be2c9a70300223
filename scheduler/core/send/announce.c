/* Announcements.
 *
 * Nothing about a detached job is told before its fact is committed: a line in the queue names the
 * task, and what is told is read when its turn comes. */
#include "scheduler/core/send/announce.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/effect.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/receipt.h"

uint32_t gw_sched_tell(struct gw_sched *sched, const struct gw_hearer *to, struct gw_job *job,
                       uint32_t row)
{
    if (job->tasks.state[row] == GW_TASK_DONE) {
        gw_sched_send_done(sched, to, job, row);
        return GW_TASK_TOLD;
    }
    const struct gw_failure *failure = gw_sched_failure_of(job, row);
    struct gw_msg_failed failed = {.request = to->request,
                                   .index = to->index,
                                   .code = failure->code,
                                   .exit_code = failure->exit_code,
                                   .attempt = failure->attempt,
                                   .text = failure->text};
    if (job->tasks.state[row] == GW_TASK_CANCELLED) {
        failed.code = GW_ECANCELLED;
        if (!failed.attempt) /* between two: there is the output of the last */
            failed.attempt = job->tasks.attempt[row];
    } else if (job->tasks.state[row] == GW_TASK_FAILED &&
               (job->tasks.flags[row] & GW_TASK_DEPENDENT)) {
        failed.code = GW_EDEPENDENCY;
    }
    gw_sched_send_failed(sched, to->session->remote, &failed);
    return GW_TASK_TOLD | GW_TASK_TOLD_FAILED;
}

static void tell_task(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint16_t flags = job->tasks.flags[row];
    if (!gw_sched_task_final(job, row))
        return;
    if (job->session && (flags & GW_TASK_HELD) && !(flags & GW_TASK_TOLD)) {
        const struct gw_hearer owner = {job->session, job->request, row};
        GW_FACT(sched, told, .job = job, .index = row,
                .flags = gw_sched_tell(sched, &owner, job, row));
    }
    if (job->shared)
        gw_sched_shares_tell(sched, job, row);
}

void gw_sched_announce_task(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (!(job->tasks.flags[row] & GW_TASK_HELD) && !gw_sched_shares_of(job, row))
        return;
    uint64_t number = sched->facts + (sched->commit.size > 0); /* of the facts so far */
    if (!job->detached || number <= sched->committed || GW_PLANTED(5)) {
        tell_task(sched, job, row);
        return;
    }
    GW_FACT(sched, announced, .job = job, .index = row, .kind = GW_ANNOUNCE_TASK, .number = number);
}

/* Whether the end that is to be told was followed by another one, of which a later line tells. */
static bool is_outdated(const struct gw_sched *sched, const struct gw_job *job, size_t at)
{
    const struct gw_announcement *lines = sched->announcements.items;
    if (!(job->tasks.flags[lines[at].index] & GW_TASK_AGAIN))
        return false;
    for (size_t i = at + 1; i < sched->announcements.count; i++)
        if (lines[i].job == job->id && lines[i].kind == GW_ANNOUNCE_TASK &&
            lines[i].index == lines[at].index)
            return true;
    return false;
}

void gw_sched_announce_committed(struct gw_sched *sched, uint64_t number)
{
    GW_FACT(sched, committed, .number = number);
    size_t count = 0;
    for (; count < sched->announcements.count; count++) {
        const struct gw_announcement line = sched->announcements.items[count];
        if (line.number > sched->committed)
            break;
        gw_sched_receipts_give(sched, line.number);
        struct gw_job *job = gw_sched_job_find(sched, line.job);
        if (!job)
            continue;
        if (line.kind == GW_ANNOUNCE_TASK) {
            if (!is_outdated(sched, job, count))
                tell_task(sched, job, line.index);
        } else if (line.kind == GW_ANNOUNCE_ACCEPTED && job->unwritten) {
            GW_FACT(sched, job_written, .job = job);
        }
        if (line.kind == GW_ANNOUNCE_ACCEPTED && job->session) {
            struct gw_msg_accepted *accepted =
                &gw_sched_send(sched, job->session->remote, GW_MESSAGE_accepted)->accepted;
            accepted->request = job->request;
            accepted->job = job->id;
        }
        if (job->questions)
            gw_sched_note_revisited(sched, job->id);
    }
    gw_sched_receipts_give(sched, sched->committed);
    if (count)
        GW_FACT(sched, announcements_made, .count = count);
}

void gw_sched_shares_tell(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    for (struct gw_share *share = gw_sched_shares_of(job, row); share; share = share->next) {
        if (!share->session || (share->told & GW_TASK_TOLD))
            continue;
        const struct gw_hearer to = {share->session, share->request, 0};
        GW_FACT(sched, share_told, .share = share, .flags = gw_sched_tell(sched, &to, job, row));
    }
}
