/* Calls of actors that wait. */
#ifndef GW_WORKER_CORE_RUNNERS_ACTOR_QUEUE_H
#define GW_WORKER_CORE_RUNNERS_ACTOR_QUEUE_H

#include "worker/core/model/state.h"

/* gw_actor_queue_makes tells whether a run's task makes an actor: it needs a runner for itself. */
static inline bool gw_actor_queue_makes(const struct gw_attempt *run)
{
    return run->spec->message.actor == GW_ACTOR_NEW;
}
static inline bool gw_actor_queue_calls(const struct gw_attempt *run)
{
    return run->spec->message.actor && run->spec->message.actor != GW_ACTOR_NEW;
}
/* gw_actor_queue_put queues a call whose inputs are here; gw_actor_queue_take_back those that a
 * runner has behind the call of this attempt, which waits or runs long. */
void gw_actor_queue_put(struct gw_attempt *run);
void gw_actor_queue_take_back(struct gw_node_core *core, struct gw_process *process,
                              uint64_t attempt);

#endif
