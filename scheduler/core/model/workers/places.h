/* Rank layouts: gangs that state how many of their ranks go to which worker or host ("a:2,b:3"). */
#ifndef GW_SCHEDULER_CORE_PLACES_H
#define GW_SCHEDULER_CORE_PLACES_H

#include "graph/model/places.h"
#include "scheduler/core/model/state.h"

/* gw_sched_places_of returns the layout of a resource class, or NULL if it has none. */
const struct gw_places *gw_sched_places_of(const struct gw_resource_class *shape);

/* gw_sched_places_at returns the entry of the layout that a worker can take, first by its own name,
 * then by its host's. GW_NO_INDEX: none. Only one worker takes each entry. */
uint32_t gw_sched_places_at(const struct gw_places *places, const struct gw_worker *worker);

/* gw_sched_places_ranks returns the number of ranks in all entries for which some worker, if empty,
 * has room. */
uint64_t gw_sched_places_ranks(const struct gw_sched *sched, const struct gw_resource_class *shape);

/* gw_sched_places_missing returns GW_EINFEASIBLE and describes the first entry for which no worker
 * has room, and what the workers have instead. `need` describes what each rank needs. Returns 0 if
 * each entry has a worker. */
int gw_sched_places_missing(const struct gw_sched *sched, const struct gw_resource_class *shape,
                            const char *need, struct gw_error *error);

#endif
