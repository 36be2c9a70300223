/* Who may use what is reserved. */
#ifndef GW_SCHEDULER_CORE_RESERVATION_GUARD_H
#define GW_SCHEDULER_CORE_RESERVATION_GUARD_H

#include "scheduler/core/model/state.h"

/* gw_sched_reservation_guard_leaves is how many ranks (of an ordinary task: 1) of a shape a worker
 * has room for beside what is reserved there; UINT64_MAX where nothing is. */
uint64_t gw_sched_reservation_guard_leaves(const struct gw_worker *worker,
                                           const struct gw_shape *shape,
                                           const struct gw_shape *reserved);

#endif
