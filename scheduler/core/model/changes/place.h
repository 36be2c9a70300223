/* Where tasks ran is written down. */
#ifndef GW_SCHEDULER_CORE_CHANGES_PLACE_H
#define GW_SCHEDULER_CORE_CHANGES_PLACE_H

#include "scheduler/core/model/state.h"

/* gw_sched_places_keep has where a detached job's task ran last outlive the scheduler; called when
 * it is about to end. */
void gw_sched_places_keep(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
