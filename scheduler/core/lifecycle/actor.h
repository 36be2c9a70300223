/* Actors: tasks that stay at their worker when they are through, and the calls that are made of
 * them.
 *
 * The task that makes an actor is placed as any other, and its attempt lasts as long as the actor
 * lives there: so its debit, its death and its next attempt are those of a task. Calls are tasks of
 * other jobs, which need no room of their own: those of one session go to the actor's worker in the
 * order in which they were made. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_ACTOR_H
#define GW_SCHEDULER_CORE_LIFECYCLE_ACTOR_H

#include "scheduler/core/model/state.h"

/* gw_sched_actor_spec_check refuses a spec that makes or calls an actor where that cannot be:
 * GW_EINVAL, GW_ENOENT, GW_EEXIST, GW_EPERM. */
int gw_sched_actor_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error);

/* Messages. */
void gw_sched_actor_on_hold(struct gw_sched *sched, struct gw_session *session,
                            const struct gw_msg_actor_hold *message);
void gw_sched_actor_on_release(struct gw_sched *sched, struct gw_session *session,
                               const struct gw_msg_actor_release *message);
void gw_sched_actor_on_ready(struct gw_sched *sched, const struct gw_worker *worker,
                             const struct gw_msg_actor_ready *message);

/* gw_sched_actor_on_session_closed lets go of what a session held. */
void gw_sched_actor_on_session_closed(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_actors_settle decides what follows for actors that were touched: calls of the dead fail,
 * those that nobody needs are ended. gw_sched_actors_place places calls. */
void gw_sched_actors_settle(struct gw_sched *sched);
void gw_sched_actors_place(struct gw_sched *sched);

/* gw_sched_actor_label writes what a person calls it: "actor counter (job 7)". */
void gw_sched_actor_label(const struct gw_actor *actor, char *text, size_t text_bytes);

/* gw_sched_actor_explain writes why a call that is ready waits. */
void gw_sched_actor_explain(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes);

/* gw_sched_actors_check asserts what must hold. */
void gw_sched_actors_check(const struct gw_sched *sched);

#endif
