/* Ranks of a gang are gathered, or have finished. */

#include "scheduler/core/lifecycle/gang_report.h"

#include "scheduler/core/lifecycle/gang_ask.h"
#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/lifecycle/hang.h"
#include "scheduler/core/lifecycle/worker_ready.h"
#include "scheduler/core/model/model.h"

int gw_sched_gang_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                              const struct gw_rank_end *end)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, end->attempt, end->rank);
    if (slot == GW_NONE) {
        gw_sched_worker_on_stale(sched, worker, end->attempt, end->rank);
        return 0;
    }
    struct gw_gang_try *gang = gw_sched_gang_find(sched, end->attempt);
    if (gang->state == GW_GANG_PREPARING)
        return GW_EPROTO; /* nobody told it to go */
    GW_FACT(sched, attempt_ended, .slot = slot, .well = true);
    GW_FACT(sched, rank_finished, .gang = gang, .rank = end->rank, .result = end->result);
    if (gang->live > 0)
        gw_sched_hang_on_finished(sched, gang);
    else if (gang->state != GW_GANG_GATHERING)
        gw_sched_gang_over(sched, gang);
    return 0;
}

void gw_sched_gang_gathered(struct gw_sched *sched, struct gw_gang_try *gang)
{
    GW_FACT(sched, gang_moved, .gang = gang, .state = GW_GANG_GOING);
    if (gang->live == 0)
        gw_sched_gang_over(sched, gang);
    else
        gw_sched_gang_ask_again(sched, gang);
}
