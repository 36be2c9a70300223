/* Records where tasks ran, for how long, and with which metrics. */
#ifndef GW_SCHEDULER_CORE_CHANGES_PLACE_H
#define GW_SCHEDULER_CORE_CHANGES_PLACE_H

#include "scheduler/core/model/state.h"

/* gw_sched_places_keep makes this data durable for the last attempt of a detached job's task. It is
 * called just before the task ends. */
void gw_sched_places_keep(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
