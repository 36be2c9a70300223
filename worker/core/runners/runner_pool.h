/* Pools of runners that can execute the same functions. */
#ifndef GW_WORKER_CORE_RUNNERS_RUNNER_POOL_H
#define GW_WORKER_CORE_RUNNERS_RUNNER_POOL_H

#include "worker/core/model/state.h"

struct gw_runner_pool *gw_runner_pool_for(struct gw_node_core *core, struct gw_node_spec *spec,
                                          const struct gw_attempt *run);
void gw_runner_pool_reap(struct gw_node_core *core); /* frees pools without users */
/* gw_runner_pool_admits returns true if the program of a process has the function of the attempt
 * that is bound to it. If not, the attempt ends. */
bool gw_runner_pool_admits(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run);
/* gw_runner_pool_learn stores the size of the last result of a spec's function. */
void gw_runner_pool_learn(struct gw_runner_pool *pool, struct gw_node_spec *spec,
                          uint64_t result_bytes);
void gw_runner_pool_free(struct gw_runner_pool *pool);
void gw_runner_pool_fail(struct gw_node_core *core, struct gw_runner_pool *pool, const char *text,
                         const struct gw_process *process);

/* gw_runner_pool_find assigns a pool to an attempt of a function. gw_runner_pool_queue queues an
 * attempt whose inputs are all here until it gets a process. */
void gw_runner_pool_find(struct gw_node_core *core, struct gw_attempt *run);
void gw_runner_pool_queue(struct gw_node_core *core, struct gw_attempt *run);
/* gw_runner_pool_has_function returns true if the pool's program has the function. It must be
 * called only after a runner of the pool has sent its first message. */
bool gw_runner_pool_has_function(struct gw_runner_pool *pool, struct gw_node_spec *spec);
/* gw_runner_pool_refuse ends an attempt that cannot start. capture: see struct gw_attempt_end. */
void gw_runner_pool_refuse(struct gw_node_core *core, struct gw_attempt *run, const char *text,
                           uint64_t capture);

void gw_runner_pool_queue_supplied(
    struct gw_node_core *core); /* queues the attempts that gw_attempt_supplied has noted */

#endif
