/* Runners that keep an actor, and its calls. */
#ifndef GW_WORKER_CORE_GANGS_ACTOR_H
#define GW_WORKER_CORE_GANGS_ACTOR_H

#include "worker/core/model/state.h"

/* gw_node_actor_prepare gives a runner the task that makes an actor. gw_node_actor_join finds the
 * actor of a call that came; false where there is none: the call was given back. gw_node_actor_call
 * queues a call whose inputs are here. */
void gw_node_actor_prepare(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run);
bool gw_node_actor_join(struct gw_node_core *core, struct gw_attempt *run);
int gw_node_actor_on_ready(struct gw_node_core *core, struct gw_process *process,
                           const struct gw_msg_actor_ready *ready);
/* gw_node_actor_kill does what a kill of an actor's own task, or of a call, asks for; false where
 * it is a run like others. */
bool gw_node_actor_kill(struct gw_node_core *core, struct gw_attempt *run,
                        const struct gw_msg_kill *kill);
/* gw_node_actor_judge tells how an actor and its calls ended: its process is buried. */
void gw_node_actor_judge(struct gw_node_core *core, struct gw_process *process);
void gw_node_actors_drop(struct gw_node_core *core); /* all of them; runs are gone */
void gw_node_actors_reap(struct gw_node_core *core); /* frees those that have ended */
void gw_node_actors_check(const struct gw_node_core *core, size_t *runs);

#endif
