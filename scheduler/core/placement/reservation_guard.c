/* Limits what other tasks may use at a worker with reserved ranks. */

#include "scheduler/core/placement/reservation_guard.h"

#include "scheduler/core/model/model.h"

static uint64_t beside(uint64_t have, uint64_t withheld, uint64_t each)
{
    if (!each)
        return UINT64_MAX;
    return have > withheld ? (have - withheld) / each : 0;
}

/* Returns how many ranks the free GPUs allow besides the reserved ranks: the free GPUs that the
 * reserved ranks can use, minus the number that they need. Free MIG instances that the reserved
 * ranks cannot use are added. */
static uint64_t gpus_beside(const struct gw_worker *worker, const struct gw_resource_class *shape,
                            const struct gw_resource_class *reserved)
{
    uint32_t gpus = gw_sched_queue_class_gpus(shape),
             withheld = gw_sched_queue_class_gpus(reserved), have = 0;
    uint32_t others = 0;
    if (!gpus || !withheld)
        return UINT64_MAX;
    withheld *= worker->reserved_ranks;
    if (reserved->gpu_fraction) {
        uint32_t each = GW_GPU_WHOLE / reserved->gpu_fraction;
        withheld = (worker->reserved_ranks + each - 1) / each;
    }
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        bool of_use = gw_sched_gpu_could(gpu, reserved);
        have += gw_sched_gpu_free(gpu) && of_use;
        others += gw_sched_gpu_free(gpu) && !of_use && gw_sched_gpu_is_instance(gpu) &&
                  gw_sched_gpu_likes_instances(shape) && gw_sched_gpu_could(gpu, shape);
    }
    uint64_t left = beside(have, withheld, 1) + others;
    return shape->gpu_fraction ? left * (GW_GPU_WHOLE / shape->gpu_fraction) : left / gpus;
}

uint64_t gw_sched_reservation_guard_leaves(const struct gw_worker *worker,
                                           const struct gw_resource_class *shape,
                                           const struct gw_resource_class *reserved)
{
    uint32_t ranks = worker->reserved_ranks;
    uint64_t left = UINT64_MAX, fit;
    if (ranks == 0)
        return UINT64_MAX;
    if (shape->alone)
        return 0;
    fit = beside(worker->slots_free, worker->reserved_slots, shape->slots);
    left = fit < left ? fit : left;
    fit = beside(worker->memory_free, ranks * reserved->memory_bytes, shape->memory_bytes);
    left = fit < left ? fit : left;
    fit = gpus_beside(worker, shape, reserved);
    left = fit < left ? fit : left;
    for (uint32_t i = 0; shape->need && i < shape->need->resources.count; i++) {
        const struct gw_resource *wanted = &shape->need->resources.items[i];
        int64_t have = gw_sched_need_stock_left(worker, wanted->name);
        uint32_t withheld = gw_sched_need_amount(reserved->need, wanted->name);
        fit = beside(have > 0 ? (uint64_t)have : 0, (uint64_t)withheld * ranks, wanted->amount);
        left = withheld && fit < left ? fit : left;
    }
    return left;
}
