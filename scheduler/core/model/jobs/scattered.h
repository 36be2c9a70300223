/* How much clients have scattered. */
#ifndef GW_SCHEDULER_CORE_JOBS_SCATTERED_H
#define GW_SCHEDULER_CORE_JOBS_SCATTERED_H

#include "scheduler/core/model/state.h"

/* gw_sched_scattered_add counts the object of a scattered value, gw_sched_scattered_remove no more.
 * Called by apply functions. */
void gw_sched_scattered_add(struct gw_sched *sched, const struct gw_job *job,
                            struct gw_object *object);
void gw_sched_scattered_remove(struct gw_sched *sched, const struct gw_object *object);

/* gw_sched_scattered_count adds an object to a count (sign 1), or subtracts it (-1). */
void gw_sched_scattered_count(struct gw_scattered *scattered, const struct gw_object *object,
                              int sign);

/* gw_sched_scattered_spec gives the job of a value its one spec, which all of them share: a value
 * never runs, and has no queue. Nothing may change that spec, nor free it. */
void gw_sched_scattered_spec(struct gw_job *job);

/* The spec of every scattered value. */
extern const struct gw_spec gw_sched_value_spec;

#endif
