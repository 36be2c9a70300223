/* Reservations move and end. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RESERVATION_H
#define GW_SCHEDULER_CORE_CHANGES_RESERVATION_H

#include "scheduler/core/model/state.h"

/* gw_sched_reservation_served and gw_sched_reservation_clear are for apply functions: the gang was
 * placed; a worker of it is gone. */
void gw_sched_reservation_served(struct gw_sched *sched, const struct gw_job *job, uint32_t index);
void gw_sched_reservation_clear(struct gw_sched *sched);

/* gw_sched_reservation_requeue: the gang that holds the reservation waits in this queue now.
 * gw_sched_reservation_see keeps when it starts at the latest, until gw_sched_reservation_unsee. */
void gw_sched_reservation_requeue(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_reservation_see(struct gw_sched *sched, uint64_t start_ns);
void gw_sched_reservation_unsee(struct gw_sched *sched);

#endif
