/* How many ranks of a shape a worker has room for. */
#ifndef GW_SCHEDULER_CORE_WORKERS_RANKS_H
#define GW_SCHEDULER_CORE_WORKERS_RANKS_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranks_at is how many ranks of a shape could start at a worker: now, or (ever) if it were
 * empty. */
uint64_t gw_sched_ranks_at(const struct gw_sched *sched, const struct gw_worker *worker,
                           const struct gw_shape *shape, bool ever);

#endif
