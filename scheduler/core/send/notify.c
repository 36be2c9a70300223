/* Announcements to clients about ended tasks and accepted jobs.
 *
 * For a detached job, an announcement is sent only after its fact is committed to the journal. An
 * entry of the queue names only the task. The message is built from the task's state when the entry
 * reaches the head of the queue. */
#include "scheduler/core/send/notify.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/send.h"

uint32_t gw_sched_notify_session(struct gw_sched *sched, const struct gw_hearer *to,
                                 struct gw_job *job, uint32_t row)
{
    if (job->tasks.state[row] == GW_TASK_DONE) {
        gw_sched_outbox_done(sched, to, job, row);
        return GW_TASK_TOLD;
    }
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    struct gw_msg_failed failed = {.request = to->request,
                                   .index = to->index,
                                   .code = failure->code,
                                   .exit_code = failure->exit_code,
                                   .attempt = failure->attempt,
                                   .text = failure->text};
    if (job->tasks.state[row] == GW_TASK_CANCELLED) {
        failed.code = GW_ECANCELLED;
        /* The task was cancelled between two attempts: name the last one, which has the output. */
        if (!failed.attempt)
            failed.attempt = job->tasks.attempt[row];
    } else if (job->tasks.state[row] == GW_TASK_FAILED &&
               (job->tasks.flags[row] & GW_TASK_DEPENDENT)) {
        failed.code = GW_EDEPENDENCY;
    }
    gw_sched_outbox_failed(sched, to->session->remote, &failed);
    return GW_TASK_TOLD | GW_TASK_TOLD_FAILED;
}

static void tell_task(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint16_t flags = job->tasks.flags[row];
    if (!gw_sched_task_final(job, row))
        return;
    if (job->session && (flags & GW_TASK_HELD) && !(flags & GW_TASK_TOLD)) {
        const struct gw_hearer owner = {job->session, job->request, row};
        gw_sched_task_told(job, row, gw_sched_notify_session(sched, &owner, job, row));
    }
    if (job->shared)
        gw_sched_notify_shares(sched, job, row);
}

void gw_sched_notify_task(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (!(job->tasks.flags[row] & GW_TASK_HELD) && !gw_sched_shares_of(job, row))
        return;
    uint64_t number =
        sched->facts + (sched->commit.size > 0); /* number of the last commit so far */
    if (!job->detached || number <= sched->committed) {
        tell_task(sched, job, row);
        return;
    }
    gw_sched_notify_announce(sched, job, row, GW_ANNOUNCE_TASK, number);
}

/* Returns true if the task has run and ended again since, so that a later entry announces its end.
 */
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

void gw_sched_notify_committed(struct gw_sched *sched, uint64_t number)
{
    gw_sched_notify_commit(sched, number);
    size_t count = 0;
    for (; count < sched->announcements.count; count++) {
        const struct gw_announcement line = sched->announcements.items[count];
        if (line.number > sched->committed)
            break;
        gw_sched_notify_waiting(sched, line.number);
        struct gw_job *job = gw_sched_job_find(sched, line.job);
        if (!job)
            continue;
        if (line.kind == GW_ANNOUNCE_TASK) {
            if (!is_outdated(sched, job, count))
                tell_task(sched, job, line.index);
        } else if (line.kind == GW_ANNOUNCE_ACCEPTED && job->unwritten) {
            gw_sched_gate_job_written(sched, job);
        }
        if (line.kind == GW_ANNOUNCE_ACCEPTED && job->session) {
            struct gw_msg_accepted *accepted =
                &gw_sched_send(sched, job->session->remote, GW_MESSAGE_accepted)->accepted;
            accepted->request = job->request;
            accepted->job = job->id;
        }
        if (job->pending_requests)
            gw_sched_note_revisited(sched, job->id);
    }
    gw_sched_notify_waiting(sched, sched->committed);
    if (count)
        gw_sched_notify_announced(sched, count);
}

void gw_sched_notify_shares(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    for (struct gw_share *share = gw_sched_shares_of(job, row); share; share = share->next) {
        if (!share->session || (share->told & GW_TASK_TOLD))
            continue;
        const struct gw_hearer to = {share->session, share->request, 0};
        gw_sched_share_tell(share, gw_sched_notify_session(sched, &to, job, row));
    }
}

/* -- Acknowledgements ---------------------------------------------------------------------- */

/* Replies to requests that wait for a commit.
 *
 * Invariant: if a client was told that a request succeeded, this stays true after every restart of
 * the scheduler. Replies are sent in the order of their fact numbers. The client may have
 * disconnected by then. */

static void send(struct gw_sched *sched, struct gw_remote *remote,
                 const struct gw_acknowledgement *acknowledgement)
{
    const uint32_t tasks = acknowledgement->tasks;
    if (acknowledgement->known_job) {
        gw_sched_send(sched, remote, GW_MESSAGE_accepted)->accepted =
            (struct gw_msg_accepted){acknowledgement->request, acknowledgement->known_job, 1};
        return;
    }
    const uint8_t body[] = {0xce, (uint8_t)(tasks >> 24), (uint8_t)(tasks >> 16),
                            (uint8_t)(tasks >> 8), (uint8_t)tasks};
    struct gw_msg_reply *reply = &gw_sched_send(sched, remote, GW_MESSAGE_reply)->reply;
    reply->request = acknowledgement->request;
    reply->text = "";
    if (acknowledgement->counted)
        reply->body = gw_sched_send_bin(sched, (struct gw_bin){body, sizeof body});
}

void gw_sched_notify_request(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_job *job,
                             const struct gw_acknowledgement *acknowledgement,
                             const struct gw_error *error)
{
    const uint64_t number =
        sched->facts + (sched->commit.size > 0); /* number of the last commit so far */
    if (error->code)
        gw_sched_send_reply(sched, remote, acknowledgement->request, error);
    else if ((job && !job->detached) || number <= sched->committed)
        send(sched, remote, acknowledgement);
    else
        gw_sched_notify_acknowledge_later(sched, acknowledgement, number, remote);
}

void gw_sched_notify_waiting(struct gw_sched *sched, uint64_t number)
{
    size_t count = 0;
    for (; count < sched->acknowledgements.count; count++) {
        const struct gw_acknowledgement *acknowledgement = &sched->acknowledgements.items[count];
        if (acknowledgement->number > number)
            break;
        struct gw_remote *remote = gw_sched_access_remote(sched, acknowledgement->peer);
        if (remote)
            send(sched, remote, acknowledgement);
    }
    if (count)
        gw_sched_notify_acknowledged(sched, count);
}
