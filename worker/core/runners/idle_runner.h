/* Parked runners: idle ones whose slots others use meanwhile. */
#ifndef GW_WORKER_CORE_RUNNERS_IDLE_RUNNER_H
#define GW_WORKER_CORE_RUNNERS_IDLE_RUNNER_H

#include "worker/core/model/state.h"

/* gw_idle_runner_put has an idle runner give its slots back and stay; false: it must end for that,
 * because it is on GPUs, or its link is closed. Of too many the one that was idle longest ends. */
bool gw_idle_runner_put(struct gw_node_core *core, struct gw_process *process);

/* gw_idle_runner_wake has a parked runner of the pool take slots again, which must be free, to be
 * fed: the one that was parked last; NULL: there is none. */
struct gw_process *gw_idle_runner_wake(struct gw_node_core *core, struct gw_runner_pool *pool);

/* gw_idle_runner_rest: whoever was woken is fed, or idle as others are. */
void gw_idle_runner_rest(struct gw_node_core *core);

#endif
