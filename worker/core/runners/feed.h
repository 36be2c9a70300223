/* What runners are given. */
#ifndef GW_WORKER_CORE_RUNNERS_FEED_H
#define GW_WORKER_CORE_RUNNERS_FEED_H

#include "worker/core/model/state.h"

/* gw_feed_process hands a runner what it can take of a list, at most `share` runs; gw_feed_pool
 * what waits in a pool to its runners. */
void gw_feed_process(struct gw_node_core *core, struct gw_process *process,
                     struct gw_attempts *from, size_t share);
void gw_feed_pool(struct gw_node_core *core, struct gw_runner_pool *pool);
void gw_feed_actors(struct gw_node_core *core); /* give calls to their runners */
/* gw_feed_room tells whether an idle runner's slots are free for it to use. */
bool gw_feed_room(const struct gw_node_core *core, const struct gw_process *process);

#endif
