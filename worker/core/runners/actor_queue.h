/* Queue of the calls of an actor that wait for its runner. */
#ifndef GW_WORKER_CORE_RUNNERS_ACTOR_QUEUE_H
#define GW_WORKER_CORE_RUNNERS_ACTOR_QUEUE_H

#include "worker/core/model/state.h"

/* gw_actor_queue_makes returns true if the attempt creates an actor, which needs a runner of its
 * own. gw_actor_queue_calls returns true if it is a call of an actor. */
static inline bool gw_actor_queue_makes(const struct gw_attempt *run)
{
    return run->spec->message.actor == GW_ACTOR_NEW;
}
static inline bool gw_actor_queue_calls(const struct gw_attempt *run)
{
    return run->spec->message.actor && run->spec->message.actor != GW_ACTOR_NEW;
}
/* gw_actor_queue_put queues a call of an actor; all inputs of the call are on this worker.
 * gw_actor_queue_take_back takes back the calls that come after the call `attempt` in the runner's
 * queue, because `attempt` waits for other tasks or runs long. */
void gw_actor_queue_put(struct gw_attempt *run);
void gw_actor_queue_take_back(struct gw_node_core *core, struct gw_process *process,
                              uint64_t attempt);

#endif
