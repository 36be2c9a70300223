/* Processes that start. */
#ifndef GW_WORKER_CORE_PROCESSES_SPAWN_H
#define GW_WORKER_CORE_PROCESSES_SPAWN_H

#include "worker/core/model/state.h"

/* gw_spawn_process starts a runner of a pool, bound to a run if there is one; without a pool the
 * command that run is, which may have to wait behind another. */
struct gw_process *gw_spawn_process(struct gw_node_core *core, struct gw_runner_pool *pool,
                                    struct gw_attempt *run, struct gw_process *behind);
int gw_spawn_on_hello(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_runner *hello);

#endif
