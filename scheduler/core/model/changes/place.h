/* Where tasks ran, for how long, and with which metrics, is written down. */
#ifndef GW_SCHEDULER_CORE_CHANGES_PLACE_H
#define GW_SCHEDULER_CORE_CHANGES_PLACE_H

#include "scheduler/core/model/state.h"

/* gw_sched_places_keep has all that outlive the scheduler for the last attempt of a detached job's
 * task; called when the task is about to end. */
void gw_sched_places_keep(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
