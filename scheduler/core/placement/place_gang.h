/* Starts an attempt of a gang: sends the workers its ranks and the source of its checkpoint. */
#ifndef GW_SCHEDULER_CORE_PLACE_GANG_H
#define GW_SCHEDULER_CORE_PLACE_GANG_H

#include "scheduler/core/model/state.h"

/* gw_sched_place_gang starts an attempt of the first gang of a queue with `count` ranks. Rank i
 * runs at placed_ranks[i]. The ranks of one worker are adjacent. */
void gw_sched_place_gang(struct gw_sched *sched, struct gw_queue *queue,
                         const struct gw_placed_rank *placed_ranks, uint32_t count);

/* gw_sched_place_gang_prefetches tells the workers of a gang the addresses of the workers from
 * which they copy the checkpoint. This is sent before the message about the gang. */
void gw_sched_place_gang_prefetches(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                    const struct gw_placed_rank *placed_ranks);

#endif
