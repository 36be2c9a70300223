/* Tasks that act as clients. */

#include "scheduler/core/model/jobs/nested.h"

#include "scheduler/core/model/jobs/story.h"
#include "scheduler/core/model/workers/memory.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_nested_end(struct gw_sched *sched, struct gw_attempt *attempt)
{
    if (attempt->blocked)
        gw_sched_worker_queue_reclaim(sched, attempt->lane);
    attempt->blocked = false;
    while (attempt->sessions) {
        GW_MUST(gw_array_push(&sched->orphaned, attempt->sessions->remote->peer));
        gw_sched_nested_leave(sched, attempt->sessions);
    }
}

void gw_sched_nested_leave(struct gw_sched *sched, struct gw_session *session)
{
    if (session->attempt == GW_NONE)
        return;
    if (session->inside_prev)
        session->inside_prev->inside_next = session->inside_next;
    else
        sched->attempts.items[session->attempt].sessions = session->inside_next;
    if (session->inside_next)
        session->inside_next->inside_prev = session->inside_prev;
    session->inside_prev = session->inside_next = NULL;
    session->attempt = GW_NONE;
}

static bool is_command(const struct gw_attempt *attempt)
{
    const struct gw_job *job = attempt->job;
    return job->specs.items[job->tasks.spec[attempt->index]].message.kind == GW_SPEC_COMMAND;
}

void gw_sched_nested_begin(struct gw_sched *sched, uint32_t slot, struct gw_session *session)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_remote *remote = session->remote;
    session->inside_next = attempt->sessions;
    if (session->inside_next)
        session->inside_next->inside_prev = session;
    attempt->sessions = session;
    session->attempt = slot;
    session->age = attempt->job->age;
    session->depth = attempt->job->depth + 1;
    session->of_command = is_command(attempt);
    remote->uid = attempt->job->uid;
    free(remote->name);
    remote->name = strdup(attempt->job->user);
    GW_MUST_PTR(remote->name);
}

void gw_sched_apply_attempt_blocked(struct gw_sched *sched,
                                    const struct gw_fact_attempt_blocked *fact)
{
    struct gw_attempt *attempt = &sched->attempts.items[fact->slot];
    attempt->blocked = fact->blocked;
    GW_STORY_USUAL(sched, attempt->job, .kind = GW_STORY_BLOCKED, .index = attempt->index,
                   .worker = attempt->worker->id, .detail = !fact->blocked);
    gw_sched_memory_aside(attempt);
    if (!fact->blocked) {
        gw_sched_worker_queue_reclaim(sched, attempt->lane);
        return;
    }
    gw_sched_worker_queue_lend(sched, attempt->lane, attempt->is_long);
    attempt->is_long = true;
}
