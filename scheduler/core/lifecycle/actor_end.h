/* The end of an attempt of an actor. */
#ifndef GW_SCHEDULER_CORE_ACTOR_END_H
#define GW_SCHEDULER_CORE_ACTOR_END_H

#include "scheduler/core/model/state.h"

/* gw_sched_actor_end_stood tells whether the attempt of an actor's task that ends now had been
 * through: what is lost with it is state, and only its restarts allow another one. */
bool gw_sched_actor_end_stood(const struct gw_job *job);

/* gw_sched_actor_end_again decides that the task of an actor runs again, before that is a fact. */
void gw_sched_actor_end_again(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_actor_end_well ends the task of an actor that let go of its state, if that is what the
 * end of its attempt means: true. */
bool gw_sched_actor_end_well(struct gw_sched *sched, struct gw_job *job);

#endif
