/* Limits what other tasks may use at a worker with reserved ranks. */

#include "scheduler/core/placement/reservation_guard.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/forecast.h"

static uint64_t beside(uint64_t have, uint64_t withheld, uint64_t each)
{
    if (!each)
        return UINT64_MAX;
    return have > withheld ? (have - withheld) / each : 0;
}

/* Returns the set of those reservations that need GPUs, and the number of GPUs in *withheld. */
static uint32_t with_gpus(const struct gw_reservation *reservations, const struct gw_worker *worker,
                          uint32_t set, uint32_t *withheld)
{
    uint32_t found = 0;
    *withheld = 0;
    GW_EACH_RESERVATION (number, set) {
        const struct gw_resource_class *reserved = reservations[number].shape;
        const uint32_t ranks = worker->reserved_ranks[number];
        const uint32_t gpus = gw_sched_queue_class_gpus(reserved);
        const uint32_t each = reserved->gpu_fraction ? GW_GPU_WHOLE / reserved->gpu_fraction : 1;
        if (gpus == 0)
            continue;
        *withheld += reserved->gpu_fraction ? (ranks + each - 1) / each : gpus * ranks;
        found |= 1U << number;
    }
    return found;
}

/* Returns how many ranks the free GPUs allow besides the reserved ranks: the free GPUs that the
 * reserved ranks can use, minus the number that they need. Free MIG instances that the reserved
 * ranks cannot use are added. */
static uint64_t gpus_beside(const struct gw_reservation *reservations,
                            const struct gw_worker *worker, const struct gw_resource_class *shape,
                            uint32_t set)
{
    const uint32_t gpus = gw_sched_queue_class_gpus(shape);
    uint32_t withheld, have = 0, others = 0;
    set = gpus ? with_gpus(reservations, worker, set, &withheld) : 0;
    if (!set)
        return UINT64_MAX;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        bool of_use = false;
        GW_EACH_RESERVATION (number, set)
            of_use = of_use || gw_sched_gpu_could(gpu, reservations[number].shape);
        have += gw_sched_gpu_free(gpu) && of_use;
        others += gw_sched_gpu_free(gpu) && !of_use && gw_sched_gpu_is_instance(gpu) &&
                  gw_sched_gpu_likes_instances(shape) && gw_sched_gpu_could(gpu, shape);
    }
    uint64_t left = beside(have, withheld, 1) + others;
    return shape->gpu_fraction ? left * (GW_GPU_WHOLE / shape->gpu_fraction) : left / gpus;
}

static uint64_t resource_beside(const struct gw_reservation *reservations,
                                const struct gw_worker *worker, const struct gw_resource *wanted,
                                uint32_t set)
{
    const int64_t have = gw_sched_need_stock_left(worker, wanted->name);
    uint64_t withheld = 0;
    GW_EACH_RESERVATION (number, set)
        withheld += (uint64_t)worker->reserved_ranks[number] *
                    gw_sched_need_amount(reservations[number].shape->need, wanted->name);
    return withheld ? beside(have > 0 ? (uint64_t)have : 0, withheld, wanted->amount) : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t gw_sched_reservation_guard_beside(const struct gw_reservation *reservations,
                                           const struct gw_worker *worker,
                                           const struct gw_resource_class *shape,
                                           uint32_t restricts)
{
    const uint32_t set = worker->reserved & restricts;
    uint64_t left = UINT64_MAX, slots = 0, memory_bytes = 0;
    if (!set)
        return left;
    if (shape->alone)
        return 0;
    GW_EACH_RESERVATION (number, set) {
        const struct gw_resource_class *reserved = reservations[number].shape;
        slots += (uint64_t)worker->reserved_ranks[number] * reserved->slots;
        memory_bytes += worker->reserved_ranks[number] * reserved->memory_bytes;
    }
    left = least(left, beside(worker->slots_free, slots, shape->slots));
    left = least(left, beside(worker->memory_free, memory_bytes, shape->memory_bytes));
    left = least(left, gpus_beside(reservations, worker, shape, set));
    for (uint32_t i = 0; shape->need && i < shape->need->resources.count; i++)
        left = least(left,
                     resource_beside(reservations, worker, &shape->need->resources.items[i], set));
    return left;
}

uint64_t gw_sched_reservation_guard_leaves(const struct gw_sched *sched,
                                           const struct gw_worker *worker,
                                           const struct gw_resource_class *shape,
                                           uint32_t restricts)
{
    /* A task for which other work is preempted leaves to the others what they need beyond the room
     * of their own victims. Otherwise each would wait for the victims of all. */
    if ((sched->reserved & GW_RESERVATIONS_HELD & ~restricts) && (worker->reserved & restricts) &&
        !shape->alone)
        return gw_sched_forecast_without(sched, worker, shape, NULL, restricts);
    return gw_sched_reservation_guard_beside(sched->reservations, worker, shape, restricts);
}
