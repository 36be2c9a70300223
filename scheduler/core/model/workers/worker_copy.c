/* Copies of workers, on which a placement can be tried out. */
#include "scheduler/core/model/workers/worker_copy.h"

#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/need.h"

#include <string.h>

void gw_worker_copy_init(struct gw_worker *copy, const struct gw_worker *worker,
                         struct gw_gpu *gpus, struct gw_stock *stock)
{
    *copy = *worker;
    copy->gpus = gpus;
    copy->stock = stock;
    copy->reserved = copy->reserved_slots = 0;
    memset(copy->reserved_ranks, 0, sizeof copy->reserved_ranks);
    if (worker->gpu_count)
        memcpy(gpus, worker->gpus, worker->gpu_count * sizeof *gpus);
    if (worker->stock_count)
        memcpy(stock, worker->stock, worker->stock_count * sizeof *stock);
}

static void change_gpus(struct gw_worker *copy, const struct gw_worker_holding *holding, bool take)
{
    const uint32_t share = holding->shape->gpu_fraction;
    for (uint32_t i = 0; i < holding->gpu_count; i++) {
        struct gw_gpu *gpu = &copy->gpus[holding->gpus[i]];
        const bool was = gw_sched_gpu_free(gpu);
        if (share)
            gpu->shared += take ? share : -share;
        else
            gpu->slot = take ? 0 : GW_NO_INDEX; /* only whether it is taken counts */
        const uint32_t more = (uint32_t)gw_sched_gpu_free(gpu) - (uint32_t)was;
        copy->gpus_free += more;
        if (gw_sched_gpu_is_instance(gpu))
            copy->instances_free += more;
    }
}

void gw_worker_copy_take(struct gw_worker *copy, const struct gw_worker_holding *holding)
{
    const uint32_t slots = holding->slots < copy->slots_free ? holding->slots : copy->slots_free;
    const uint64_t memory =
        holding->memory_bytes < copy->memory_free ? holding->memory_bytes : copy->memory_free;
    copy->slots_free -= slots;
    copy->slots_over += holding->slots - slots;
    copy->memory_free -= memory;
    copy->memory_over += holding->memory_bytes - memory;
    for (uint32_t i = 0; holding->shape->need && i < holding->debits; i++)
        gw_sched_need_take(copy, holding->shape->need);
    change_gpus(copy, holding, true);
}

void gw_worker_copy_give(struct gw_worker *copy, const struct gw_worker_holding *holding)
{
    const uint32_t slots = holding->slots < copy->slots_over ? holding->slots : copy->slots_over;
    const uint64_t memory =
        holding->memory_bytes < copy->memory_over ? holding->memory_bytes : copy->memory_over;
    copy->slots_over -= slots;
    copy->slots_free += holding->slots - slots;
    copy->memory_over -= memory;
    copy->memory_free += holding->memory_bytes - memory;
    for (uint32_t i = 0; holding->shape->need && i < holding->debits; i++)
        gw_sched_need_give(copy, holding->shape->need);
    change_gpus(copy, holding, false);
}

void gw_worker_copy_reserve(struct gw_worker *copy, uint32_t number,
                            const struct gw_resource_class *shape, uint32_t ranks)
{
    copy->reserved_slots += (ranks - copy->reserved_ranks[number]) * shape->slots;
    copy->reserved_ranks[number] = ranks;
    copy->reserved &= ~(1U << number);
    copy->reserved |= (uint32_t)(ranks > 0) << number;
}
