/* Who gets a runner. */
#ifndef GW_WORKER_CORE_POOL_H
#define GW_WORKER_CORE_POOL_H

#include "worker/core/state.h"

struct gw_pool *gw_pool_for(struct gw_node_core *core, struct gw_node_spec *spec,
                            const struct gw_run *run);
void gw_pool_pump(struct gw_node_core *core); /* give work to runners, start and end them */
void gw_pool_tidy(struct gw_node_core *core, struct gw_pool *pool); /* free it if nobody uses it */
/* gw_pool_admits tells whether the program of a process holds the function of a run that is bound
 * to it; where it does not, that run ends so, and is freed. */
bool gw_pool_admits(struct gw_node_core *core, struct gw_process *process, struct gw_run *run);
/* gw_pool_learn remembers how large a result the function of a spec has made. */
void gw_pool_learn(struct gw_pool *pool, struct gw_node_spec *spec, uint64_t result_bytes);
void gw_pool_free(struct gw_pool *pool);
void gw_pool_fail(struct gw_node_core *core, struct gw_pool *pool, const char *text,
                  const struct gw_process *process);
/* gw_pool_feed hands a runner what it can take of a list, at most `share` runs. */
void gw_pool_feed(struct gw_node_core *core, struct gw_process *process, struct gw_runs *from,
                  size_t share);

#endif
