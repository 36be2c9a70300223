/* Starts processes. */
#ifndef GW_WORKER_CORE_PROCESSES_SPAWN_H
#define GW_WORKER_CORE_PROCESSES_SPAWN_H

#include "worker/core/model/state.h"

/* gw_spawn_process starts a runner of a pool, and gives it the attempt `run` unless that is NULL.
 * If `pool` is NULL, it starts the command of `run`. If `behind` is not NULL, the command starts
 * only when that process has been reaped. */
struct gw_process *gw_spawn_process(struct gw_node_core *core, struct gw_runner_pool *pool,
                                    struct gw_attempt *run, struct gw_process *behind);
int gw_spawn_on_hello(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_runner *hello);

#endif
