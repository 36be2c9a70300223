/* Who gets a runner. */
#ifndef GW_WORKER_CORE_RUNNERS_RUNNER_POOL_H
#define GW_WORKER_CORE_RUNNERS_RUNNER_POOL_H

#include "worker/core/model/state.h"

struct gw_runner_pool *gw_runner_pool_for(struct gw_node_core *core, struct gw_node_spec *spec,
                                          const struct gw_attempt *run);
void gw_runner_pool_reap(struct gw_node_core *core); /* frees pools that nobody uses any more */
/* gw_runner_pool_admits tells whether the program of a process holds the function of a run that is
 * bound to it; where it does not, that run ends so, and is freed. */
bool gw_runner_pool_admits(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run);
/* gw_runner_pool_learn remembers how large a result the function of a spec has made. */
void gw_runner_pool_learn(struct gw_runner_pool *pool, struct gw_node_spec *spec,
                          uint64_t result_bytes);
void gw_runner_pool_free(struct gw_runner_pool *pool);
void gw_runner_pool_fail(struct gw_node_core *core, struct gw_runner_pool *pool, const char *text,
                         const struct gw_process *process);

/* gw_runner_pool_find gives a run of a function its pool; gw_runner_pool_queue puts a run, whose
 * inputs are all here, where it waits for a process. */
void gw_runner_pool_find(struct gw_node_core *core, struct gw_attempt *run);
void gw_runner_pool_queue(struct gw_node_core *core, struct gw_attempt *run);
/* gw_runner_pool_has_function tells whether a pool's program holds it, once a runner has said
 * hello. */
bool gw_runner_pool_has_function(struct gw_runner_pool *pool, struct gw_node_spec *spec);
/* gw_runner_pool_refuse ends a run that cannot start; capture: see struct gw_attempt_end. */
void gw_runner_pool_refuse(struct gw_node_core *core, struct gw_attempt *run, const char *text,
                           uint64_t capture);

void gw_runner_pool_queue_supplied(struct gw_node_core *core); /* those of gw_attempt_supplied */

#endif
