/* Placement: decides which worker runs each ready task. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_H
#define GW_SCHEDULER_CORE_PLACEMENT_H

#include "scheduler/core/model/state.h"

/* gw_sched_placement places all tasks that fit now, in the order of priority, age of the job, and
 * index of the task in its job. */
void gw_sched_placement(struct gw_sched *sched);

/* gw_sched_placement_room returns on how many workers the first task of a queue, a whole gang or an
 * ordinary task, would start if these long attempts had ended (ended: by slot, not 0), or 0 if the
 * room would be too small. It writes these workers with their ranks to reserved_ranks, which has
 * room for all workers. */
uint32_t gw_sched_placement_room(struct gw_sched *sched, const struct gw_queue *queue,
                                 const uint8_t *ended, struct gw_reserved_rank *reserved_ranks);

#endif
