/* Reservations move and end. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RESERVATION_H
#define GW_SCHEDULER_CORE_CHANGES_RESERVATION_H

#include "scheduler/core/model/state.h"

/* gw_sched_reservation_served and gw_sched_reservation_clear are for apply functions: the gang was
 * placed; a worker of it is gone. */
void gw_sched_reservation_served(struct gw_sched *sched, const struct gw_job *job, uint32_t index);
void gw_sched_reservation_clear(struct gw_sched *sched);

#endif
