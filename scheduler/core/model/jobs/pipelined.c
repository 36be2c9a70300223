/* Tasks that are at the worker that makes their inputs. */
#include "scheduler/core/model/jobs/pipelined.h"

#include "scheduler/core/model/jobs/edge.h"

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
