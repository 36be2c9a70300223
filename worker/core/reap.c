/* Reports and frees attempts that have ended.
 *
 * The other rooms only note that an attempt has ended. gw_reap reports the end and releases
 * everything that the attempt held. This may end further attempts: those that wait for its result.
 *
 * Invariant: no ended attempt outlives the step. */
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
