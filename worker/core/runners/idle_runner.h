/* Parked runners: idle runners that have released their slots, so that other processes can use the
 * slots meanwhile. */
#ifndef GW_WORKER_CORE_RUNNERS_IDLE_RUNNER_H
#define GW_WORKER_CORE_RUNNERS_IDLE_RUNNER_H

#include "worker/core/model/state.h"

/* gw_idle_runner_put parks an idle runner, which releases its slots. Returns false if the runner
 * must end instead, because it is on GPUs or its connection is closed. If too many runners are
 * parked, the one that was idle longest ends. */
bool gw_idle_runner_put(struct gw_node_core *core, struct gw_process *process);

/* gw_idle_runner_wake gives slots, which must be free, back to the parked runner of the pool that
 * was parked last. The runner can then get work. NULL: the pool has no parked runner. */
struct gw_process *gw_idle_runner_wake(struct gw_node_core *core, struct gw_runner_pool *pool);

/* gw_idle_runner_rest clears the mark "woken" of all runners after they had a chance to get work.
 */
void gw_idle_runner_rest(struct gw_node_core *core);

#endif
