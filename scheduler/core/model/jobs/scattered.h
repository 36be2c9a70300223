/* Counts scattered values. */
#ifndef GW_SCHEDULER_CORE_JOBS_SCATTERED_H
#define GW_SCHEDULER_CORE_JOBS_SCATTERED_H

#include "scheduler/core/model/state.h"

/* gw_sched_scattered_add adds the object of a scattered value to the counters.
 * gw_sched_scattered_remove subtracts it. Only for use in model/. */
void gw_sched_scattered_add(struct gw_sched *sched, const struct gw_job *job,
                            struct gw_object *object);
void gw_sched_scattered_remove(struct gw_sched *sched, const struct gw_object *object);

/* gw_sched_scattered_count adds an object to a counter (sign 1) or subtracts it (-1). */
void gw_sched_scattered_count(struct gw_scattered *scattered, const struct gw_object *object,
                              int sign);

/* gw_sched_scattered_spec sets the only spec of the job of a scattered value. All such jobs share
 * the same spec, because a value never runs and has no queue. The spec must not be changed or
 * freed. */
void gw_sched_scattered_spec(struct gw_job *job);

/* The spec of every scattered value. */
extern const struct gw_spec gw_sched_value_spec;

#endif
