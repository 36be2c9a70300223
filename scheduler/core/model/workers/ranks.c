/* How many ranks of a shape a worker has room for. */

#include "scheduler/core/model/workers/ranks.h"

#include "scheduler/core/model/workers/cooling.h"
#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/worker.h"

static uint64_t divided(uint64_t have, uint64_t each)
{
    return each ? have / each : UINT64_MAX;
}

static uint64_t smallest(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t least = a < b ? a : b;
    return least < c ? least : c;
}

uint64_t gw_sched_ranks_at(const struct gw_sched *sched, const struct gw_worker *worker,
                           const struct gw_shape *shape, bool ever)
{
    if (!worker || worker->state != GW_WORKER_READY || (!ever && !gw_sched_memory_lets(worker)))
        return 0;
    if (!ever && !GW_PLANTED(750) && gw_sched_cooling_left_ns(sched, worker, shape) > 0)
        return 0;
    return smallest(divided(ever ? worker->slots : worker->slots_free, shape->slots),
                    divided(ever ? worker->memory_bytes : worker->memory_free, shape->memory_bytes),
                    gw_sched_need_ranks(worker, shape, ever));
}
