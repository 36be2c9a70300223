/* Packing: selects, from the workers that have room, those that get the ranks of a gang. */
#ifndef GW_SCHEDULER_CORE_PACKING_H
#define GW_SCHEDULER_CORE_PACKING_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/parting.h"

/* gw_sched_packing moves the selected workers to the front of `packs`, in the order of the ranks,
 * and sets how many ranks each gets. It returns the number of selected workers, or 0 if the room is
 * too small. The shape determines the selection:
 *
 * - default: as few workers as possible (if one worker is enough, the one with the least spare
 * room)
 *
 * - ranks_per_node: this many ranks on each worker, the workers with the least spare room first
 *
 * - spread: as many workers as possible, with equal numbers of ranks
 *
 * - a rank layout: the workers that it names, in its order. */
uint32_t gw_sched_packing(const struct gw_resource_class *shape, struct gw_pack *packs,
                          uint32_t count);

/* gw_sched_packing_most returns the most ranks of a gang that one worker may get. */
uint32_t gw_sched_packing_most(const struct gw_resource_class *shape,
                               const struct gw_worker *worker);

#endif
