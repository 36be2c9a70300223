/* Tasks that act as clients. */

#include "scheduler/core/model/jobs/nested.h"

#include "scheduler/core/model/workers/worker_queue.h"

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
