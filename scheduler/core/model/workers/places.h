/* Places: gangs that say how many of their ranks go to which worker or host ("a:2,b:3"). */
#ifndef GW_SCHEDULER_CORE_PLACES_H
#define GW_SCHEDULER_CORE_PLACES_H

#include "graph/model/places.h"
#include "scheduler/core/model/state.h"

/* gw_sched_places_of are a shape's places; NULL where it does not say. */
const struct gw_places *gw_sched_places_of(const struct gw_shape *shape);

/* gw_sched_places_at is the place that a worker can take, by its own name before its host's;
 * GW_NO_INDEX: none. One worker takes a place. */
uint32_t gw_sched_places_at(const struct gw_places *places, const struct gw_worker *worker);

/* gw_sched_places_ranks is how many ranks have a place that a worker, if it were empty, has room
 * for. */
uint64_t gw_sched_places_ranks(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_places_missing is GW_EINFEASIBLE with the first place that no worker has room for, and
 * what there is instead; `need` is what each rank needs, in words. 0: each place has a worker. */
int gw_sched_places_missing(const struct gw_sched *sched, const struct gw_shape *shape,
                            const char *need, struct gw_error *error);

#endif
