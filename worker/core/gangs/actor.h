/* Runners that hold the state of an actor, and the calls of the actor. */
#ifndef GW_WORKER_CORE_GANGS_ACTOR_H
#define GW_WORKER_CORE_GANGS_ACTOR_H

#include "worker/core/model/state.h"

/* gw_node_actor_prepare sends a runner the task that creates an actor. gw_node_actor_join finds the
 * actor of a call that has arrived. It returns false if the actor is gone. The call is then given
 * back to the scheduler. gw_node_actor_on_ready handles a runner's report that the actor was
 * created. */
void gw_node_actor_prepare(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run);
bool gw_node_actor_join(struct gw_node_core *core, struct gw_attempt *run);
int gw_node_actor_on_ready(struct gw_node_core *core, struct gw_process *process,
                           const struct gw_msg_actor_ready *ready);
/* gw_node_actor_kill handles a kill of an actor's own task or of a call. Returns false if the
 * attempt must be killed like an ordinary one. */
bool gw_node_actor_kill(struct gw_node_core *core, struct gw_attempt *run,
                        const struct gw_msg_kill *kill);
/* gw_node_actor_judge decides how an actor and its calls have ended, after its process is reaped.
 */
void gw_node_actor_judge(struct gw_node_core *core, struct gw_process *process);
void gw_node_actors_drop(
    struct gw_node_core *core); /* frees all actors; their attempts are freed already */
void gw_node_actors_reap(struct gw_node_core *core); /* frees the actors that have ended */
void gw_node_actors_check(const struct gw_node_core *core, size_t *runs);

#endif
