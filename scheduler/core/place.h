/* Where attempts ran: what their output is asked for by. */
#ifndef GW_SCHEDULER_CORE_PLACE_H
#define GW_SCHEDULER_CORE_PLACE_H

#include "scheduler/core/state.h"

/* gw_sched_place_worker is the id of the worker that has a place's output; 0: none is known. */
uint32_t gw_sched_place_worker(const struct gw_sched *sched, const struct gw_place *place);

/* gw_sched_places_keep has where a detached job's task ran last outlive the scheduler; called when
 * it is about to end. */
void gw_sched_places_keep(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
