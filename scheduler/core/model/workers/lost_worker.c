/* Workers that are away and may come back. */
#include "scheduler/core/model/workers/lost_worker.h"

#include "scheduler/core/model/workers/gpu.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_lost_worker_deinit(struct gw_sched *sched)
{
    free(sched->away);
    sched->away = NULL;
}

void gw_sched_lost_worker_forget(struct gw_lost_workers *away, uint32_t at)
{
    memmove(&away->items[at], &away->items[at + 1], (--away->count - at) * sizeof *away->items);
}

static bool is_same(const struct gw_lost_worker *item, const struct gw_worker *worker)
{
    return item->incarnation == worker->incarnation ||
           (strcmp(item->name, worker->remote->name) == 0 && strcmp(item->host, worker->host) == 0);
}

bool gw_sched_lost_worker_is(const struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++)
        if (is_same(&sched->away->items[i], worker))
            return true;
    return false;
}

bool gw_sched_lost_worker_has(const struct gw_sched *sched, uint64_t incarnation)
{
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++)
        if (sched->away->items[i].incarnation == incarnation)
            return true;
    return false;
}

void gw_sched_lost_worker_on_ready(struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = sched->away ? sched->away->count : 0; i-- > 0;)
        if (is_same(&sched->away->items[i], worker))
            gw_sched_lost_worker_forget(sched->away, i);
}

uint32_t gw_sched_lost_worker_instances(const struct gw_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        count += worker->gpus[i].twin == GW_NONE && gw_sched_gpu_is_instance(&worker->gpus[i]);
    return count;
}

void gw_sched_lost_worker_on_given(struct gw_sched *sched, uint64_t incarnation, bool instance)
{
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++) {
        struct gw_lost_worker *item = &sched->away->items[i];
        if (item->incarnation != incarnation || item->gpus == 0)
            continue;
        item->gpus--;
        item->instances -= instance && item->instances > 0;
    }
}
