/* A gang is placed: its workers are told of its ranks and its checkpoint. */
#ifndef GW_SCHEDULER_CORE_PLACE_GANG_H
#define GW_SCHEDULER_CORE_PLACE_GANG_H

#include "scheduler/core/model/state.h"

/* gw_sched_place_gang starts an attempt of the first gang of a queue with `count` ranks, rank i at
 * seats[i]; ranks of one worker are next to each other. */
void gw_sched_place_gang(struct gw_sched *sched, struct gw_queue *queue,
                         const struct gw_placed_rank *placed_ranks, uint32_t count);

/* gw_sched_place_gang_prefetches tells the workers of a gang the addresses of those that they get
 * the checkpoint from, before the gang itself. */
void gw_sched_place_gang_prefetches(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                    const struct gw_placed_rank *placed_ranks);

#endif
