/* Lost workers that may reconnect. */
#include "scheduler/core/model/workers/lost_worker.h"

#include "scheduler/core/model/workers/gpu.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_lost_worker_deinit(struct gw_sched *sched)
{
    free(sched->disconnected);
    sched->disconnected = NULL;
}

void gw_sched_lost_worker_forget(struct gw_lost_workers *disconnected, uint32_t at)
{
    memmove(&disconnected->items[at], &disconnected->items[at + 1],
            (--disconnected->count - at) * sizeof *disconnected->items);
}

static bool is_same(const struct gw_lost_worker *item, const struct gw_worker *worker)
{
    return item->incarnation == worker->incarnation ||
           (strcmp(item->name, worker->remote->name) == 0 && strcmp(item->host, worker->host) == 0);
}

bool gw_sched_lost_worker_is(const struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = 0; sched->disconnected && i < sched->disconnected->count; i++)
        if (is_same(&sched->disconnected->items[i], worker))
            return true;
    return false;
}

bool gw_sched_lost_worker_has(const struct gw_sched *sched, uint64_t incarnation)
{
    for (uint32_t i = 0; sched->disconnected && i < sched->disconnected->count; i++)
        if (sched->disconnected->items[i].incarnation == incarnation)
            return true;
    return false;
}

void gw_sched_lost_worker_on_ready(struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = sched->disconnected ? sched->disconnected->count : 0; i-- > 0;)
        if (is_same(&sched->disconnected->items[i], worker))
            gw_sched_lost_worker_forget(sched->disconnected, i);
}

uint32_t gw_sched_lost_worker_instances(const struct gw_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        count += worker->gpus[i].twin == GW_NO_INDEX && gw_sched_gpu_is_instance(&worker->gpus[i]);
    return count;
}

void gw_sched_lost_worker_on_given(struct gw_sched *sched, uint64_t incarnation, bool instance)
{
    for (uint32_t i = 0; sched->disconnected && i < sched->disconnected->count; i++) {
        struct gw_lost_worker *item = &sched->disconnected->items[i];
        if (item->incarnation != incarnation || item->gpus == 0)
            continue;
        item->gpus--;
        item->instances -= instance && item->instances > 0;
    }
}
