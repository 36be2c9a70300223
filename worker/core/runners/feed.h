/* Decides which runner gets which tasks. */
#ifndef GW_WORKER_CORE_RUNNERS_FEED_H
#define GW_WORKER_CORE_RUNNERS_FEED_H

#include "worker/core/model/state.h"

/* gw_feed_process gives a runner tasks from a list, at most `share` of them. gw_feed_pool gives the
 * ready tasks of a pool to its runners. */
void gw_feed_process(struct gw_node_core *core, struct gw_process *process,
                     struct gw_attempts *from, size_t share);
void gw_feed_pool(struct gw_node_core *core, struct gw_runner_pool *pool);
void gw_feed_actors(
    struct gw_node_core *core); /* gives waiting calls to the runners of their actors */
/* gw_feed_room returns true if an idle runner may use its slots for a task. It returns false if
 * more slots are in use than the worker has. */
bool gw_feed_room(const struct gw_node_core *core, const struct gw_process *process);

#endif
