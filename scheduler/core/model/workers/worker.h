/* Workers: from their greeting to their loss. */
#ifndef GW_SCHEDULER_CORE_WORKERS_WORKER_H
#define GW_SCHEDULER_CORE_WORKERS_WORKER_H

#include "scheduler/core/model/state.h"

/* gw_sched_worker_find gives a worker by its id, or NULL when it is lost. */
struct gw_worker *gw_sched_worker_find(const struct gw_sched *sched, uint32_t id);

/* gw_sched_worker_fits tells whether one more attempt of a shape could start there now;
 * gw_sched_worker_could: if it were empty. */
bool gw_sched_worker_fits(const struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_shape *shape);
bool gw_sched_worker_could(const struct gw_worker *worker, const struct gw_shape *shape);

/* gw_sched_memory_lets tells whether a worker's memory lets anything be placed there at all; of one
 * that leaves it does not. */
static inline bool gw_sched_memory_lets(const struct gw_worker *worker)
{
    return !worker->leaves && (worker->memory.state == GW_MEMORY_OPEN ||
                               (worker->memory.state == GW_MEMORY_ONE && worker->memory_one));
}

#endif
