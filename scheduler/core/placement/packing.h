/* Packing: of the workers that have room for ranks of a gang, those that get them. */
#ifndef GW_SCHEDULER_CORE_PACKING_H
#define GW_SCHEDULER_CORE_PACKING_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/parting.h"

/* gw_sched_packing puts those that get ranks in front, in the order of the ranks, each with as many
 * as it gets, and gives how many they are; 0 where all together do not suffice. As the shape wants
 * it: as few as can be, the one that has least to spare where one alone suffices; so many at each,
 * of those that have least to spare; as many as can be, evenly; or those of its places, in their
 * order. */
uint32_t gw_sched_packing(const struct gw_shape *shape, struct gw_pack *packs, uint32_t count);

/* gw_sched_packing_most is the most ranks of a shape's gang that a worker may get. */
uint32_t gw_sched_packing_most(const struct gw_shape *shape, const struct gw_worker *worker);

#endif
