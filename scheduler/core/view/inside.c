/* Explains what a running task waits for inside its own code, from the unanswered requests of its
 * session.
 *
 * Invariant: no state is kept for these explanations. They use the waiting coordination requests,
 * the pending requests for the end of a job, and the futures whose tasks have not ended. If a task
 * holds several futures, only the task knows which one it waits for. The explanation names the
 * first. */
#include "scheduler/core/view/inside.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/coordination/sync.h"
#include "scheduler/core/view/quote.h"

enum { RANKS_SAID_MAX = 3 };

static void say_task(struct gw_job *job, uint32_t row, const char *whose, struct gw_text *text)
{
    char label[128];
    gw_sched_task_label(job, row, label, sizeof label);
    gw_text_say(text, "%s %llu/%u (", whose, (unsigned long long)job->id, row);
    gw_explain_quote(text, label);
    gw_text_say(text, "), which is %s", gw_sm_name(&gw_sched_task_sm, job->tasks.state[row]));
}

/* Names a job whose end the session waits for. Returns false if there is none. */
static bool say_job(const struct gw_sched *sched, const struct gw_session *session,
                    struct gw_text *text)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->pending_requests, &at, &relay, &value)) {
        const struct gw_pending_request *pending =
            (const struct gw_pending_request *)(uintptr_t)value;
        if (pending->type != GW_MESSAGE_wait || pending->peer.id != session->remote->peer.id)
            continue;
        const struct gw_job *job = gw_sched_job_find(sched, pending->job);
        gw_text_say(text, "the end of job %llu", (unsigned long long)pending->job);
        if (job) {
            gw_text_say(text, " (");
            gw_explain_quote(text, job->name);
            gw_text_say(text, "), %u of its tasks have not ended", job->unfinished);
        }
        return true;
    }
    return false;
}

/* Returns the first task of the job that has not ended and whose future the session holds, or
 * GW_NO_INDEX. */
static uint32_t first_awaited(const struct gw_job *job)
{
    const struct gw_tasks *tasks = &job->tasks;
    for (uint32_t row = gw_sched_row_next(job, 0); row < tasks->count;
         row = gw_sched_row_next(job, row + 1))
        if ((tasks->flags[row] & GW_TASK_HELD) && !gw_sched_task_final(job, row))
            return row;
    return GW_NO_INDEX;
}

/* Names the oldest unfinished task that the session submitted and whose future it holds. The list
 * of the session's jobs begins with the newest. */
static bool say_child(const struct gw_session *session, struct gw_text *text)
{
    struct gw_job *oldest = NULL;
    uint64_t unfinished = 0;
    uint32_t first = GW_NO_INDEX;
    for (struct gw_job *job = session->jobs; job; job = job->session_next) {
        unfinished += job->unfinished;
        uint32_t row =
            job->unfinished && (!oldest || job->id < oldest->id) ? first_awaited(job) : GW_NO_INDEX;
        if (row == GW_NO_INDEX)
            continue;
        oldest = job;
        first = row;
    }
    if (!oldest)
        return false;
    say_task(oldest, first, "its child task", text);
    if (unfinished > 1)
        gw_text_say(text, "; %llu tasks that it submitted have not ended",
                    (unsigned long long)unfinished);
    return true;
}

/* Names an unfinished task of another client that the session looked up. */
static bool say_share(const struct gw_session *session, struct gw_text *text)
{
    size_t at = 0;
    uint64_t request, value;
    while (gw_map_next(&session->shares, &at, &request, &value)) {
        const struct gw_share *share = (const struct gw_share *)(uintptr_t)value;
        if (!gw_sched_row_live(share->job, share->index) ||
            gw_sched_task_final(share->job, share->index))
            continue;
        say_task(share->job, share->index, "task", text);
        return true;
    }
    return false;
}

/* Describes what a client inside the attempt waits for. Returns false if no known wait is found. */
static bool say_what(const struct gw_sched *sched, const struct gw_attempt *attempt,
                     struct gw_text *text)
{
    for (const struct gw_session *at = attempt->sessions; at; at = at->inside_next) {
        if (at->sync_waiters) {
            char sync[640];
            gw_sync_explain(sched, at->sync_waiters, &(struct gw_text){sync, sizeof sync, 0});
            gw_explain_quote(text, sync);
            return true;
        }
        if (attempt->blocked &&
            (say_job(sched, at, text) || say_child(at, text) || say_share(at, text)))
            return true;
    }
    return false;
}

void gw_sched_inside_explain(const struct gw_sched *sched, const struct gw_attempt *attempt,
                             struct gw_text *text)
{
    char what[640];
    struct gw_text said = {what, sizeof what, 0};
    if (say_what(sched, attempt, &said))
        gw_text_say(text, "; it runs and waits for %s%s", what,
                    attempt->blocked ? "; its slots are yielded meanwhile" : "");
    else if (attempt->blocked)
        gw_text_say(
            text,
            "; it waits for other tasks (gw_task_client), and its slots are yielded meanwhile");
}

void gw_sched_inside_explain_gang(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                  struct gw_text *text)
{
    uint32_t waiting = 0;
    for (uint32_t rank = 0; rank < gang->count; rank++) {
        char what[320];
        struct gw_text said = {what, sizeof what, 0};
        uint32_t slot = gang->ranks[rank].slot;
        if (slot == GW_NO_INDEX || !say_what(sched, &sched->attempts.items[slot], &said))
            continue;
        if (waiting++ < RANKS_SAID_MAX)
            gw_text_say(text, "; rank %u waits for %s", rank, what);
    }
    if (waiting > RANKS_SAID_MAX)
        gw_text_say(text, "; so do %u more of its ranks", waiting - RANKS_SAID_MAX);
}
