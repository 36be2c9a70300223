/* Appliers of facts about the reservation of a gang. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RESERVATION_H
#define GW_SCHEDULER_CORE_CHANGES_RESERVATION_H

#include "scheduler/core/model/state.h"

/* For appliers only. gw_sched_reservation_served ends the reservation because its gang was placed.
 * gw_sched_reservation_clear removes it because one of its workers is gone. */
void gw_sched_reservation_served(struct gw_sched *sched, const struct gw_job *job, uint32_t index);
void gw_sched_reservation_clear(struct gw_sched *sched);

/* gw_sched_reservation_requeue records the ready queue in which the gang of the reservation waits
 * now. gw_sched_reservation_see records its latest start, until gw_sched_reservation_unsee. */
void gw_sched_reservation_requeue(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_reservation_see(struct gw_sched *sched, uint64_t start_ns);
void gw_sched_reservation_unsee(struct gw_sched *sched);

#endif
