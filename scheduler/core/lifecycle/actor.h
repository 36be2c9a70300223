/* Actors. An actor is made by a task that stays at its worker after its function has returned.
 * Other tasks, the calls, use the state that the actor keeps there.
 *
 * The task that makes an actor is placed like any other task, and its attempt lasts as long as the
 * actor lives at that worker. Therefore resources, loss and restart of an actor are handled as for
 * any task. Calls are tasks of other jobs and need no resources of their own. The calls of one
 * session go to the actor's worker in the order in which the session made them. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_ACTOR_H
#define GW_SCHEDULER_CORE_LIFECYCLE_ACTOR_H

#include "scheduler/core/model/state.h"

/* gw_sched_actor_spec_check refuses an invalid spec that makes or calls an actor. It returns
 * GW_EINVAL, GW_ENOENT, GW_EEXIST, GW_EPERM or GW_EACTOR. */
int gw_sched_actor_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error);

/* Handlers of messages from clients (hold, release) and from workers (ready). */
void gw_sched_actor_on_hold(struct gw_sched *sched, struct gw_session *session,
                            const struct gw_msg_actor_hold *message);
void gw_sched_actor_on_release(struct gw_sched *sched, struct gw_session *session,
                               const struct gw_msg_actor_release *message);
void gw_sched_actor_on_ready(struct gw_sched *sched, const struct gw_worker *worker,
                             const struct gw_msg_actor_ready *message);

/* gw_sched_actor_on_session_closed releases every hold that the closed session had on an actor. */
void gw_sched_actor_on_session_closed(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_actors_on_nameless ends the actors that belong to jobs that have ended (GW_NOTES:
 * nameless). */
void gw_sched_actors_on_nameless(struct gw_sched *sched);

/* gw_sched_actors_settle handles the actors that changed in this step: it fails the calls of ended
 * actors and ends the actors that are no longer needed. gw_sched_actors_place sends calls to the
 * workers of actors. */
void gw_sched_actors_settle(struct gw_sched *sched);
void gw_sched_actors_place(struct gw_sched *sched);

/* gw_sched_actor_label writes the actor's name for messages: "actor counter (job 7)". */
void gw_sched_actor_label(const struct gw_actor *actor, char *text, size_t text_bytes);

/* gw_sched_actor_explain writes why a call that is ready has not been placed yet. */
void gw_sched_actor_explain(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes);

/* gw_sched_actors_check asserts the invariants of actors. Tests call it. */
void gw_sched_actors_check(const struct gw_sched *sched);

#endif
