/* The reaper: what has ended is told of, and goes.
 *
 * The other rooms only note that a run has ended. Here its end is told, and it lets go of all that
 * it had, which may end others: those that wait for what it would have made.
 *
 * Always: nothing that has ended outlives the step. */
#include "worker/core/reap.h"

#include "worker/core/gangs/actor.h"
#include "worker/core/link/report.h"
#include "worker/core/runners/runner_pool.h"
#include "worker/core/runners/successor.h"

bool gw_reap(struct gw_node_core *core)
{
    bool any = false;
    while (core->ended.first || core->orphans.count) {
        any = true;
        while (core->ended.first)
            gw_report_end(core, core->ended.first);
        gw_successor_settle(core);
    }
    gw_node_actors_reap(core);
    gw_runner_pool_reap(core);
    return any;
}
