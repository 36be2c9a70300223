/* Tasks that are at the worker that makes their inputs. */
#include "scheduler/core/model/jobs/pipelined.h"

#include "scheduler/core/model/jobs/edge.h"

#include <string.h>

enum { FRONTIER_KEPT = 1024 /* looked at, and not yet cut off */ };

static void list(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->frontier.listed)
        return;
    worker->frontier.listed = true;
    GW_MUST(gw_array_push(&sched->frontiers, worker));
}

void gw_sched_pipelined_note(struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    if (gw_sched_successors_of(attempt->job, attempt->index).link == GW_NONE)
        return;
    GW_MUST(gw_array_push(&attempt->worker->frontier.attempts, attempt->id));
    list(sched, attempt->worker);
}

void gw_sched_pipelined_freed(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->frontier.attempts.count > 0)
        list(sched, worker);
}

void gw_sched_pipelined_forget(struct gw_sched *sched, struct gw_worker *worker)
{
    for (size_t i = sched->frontiers.count; i-- > 0;)
        if (sched->frontiers.items[i] == worker)
            gw_array_remove_swap(&sched->frontiers, i);
    gw_array_deinit(&worker->frontier.attempts);
}

void gw_sched_pipelined_unlist(struct gw_worker *worker)
{
    worker->frontier.listed = false;
}

void gw_sched_pipelined_advance(struct gw_worker *worker, size_t at)
{
    struct gw_frontier *frontier = &worker->frontier;
    size_t left = frontier->attempts.count - at;
    frontier->at = at;
    if (left > 0 && (at < FRONTIER_KEPT || at < left))
        return;
    if (left > 0)
        memmove(frontier->attempts.items, frontier->attempts.items + at,
                left * sizeof *frontier->attempts.items);
    frontier->attempts.count = left;
    frontier->at = 0;
}
