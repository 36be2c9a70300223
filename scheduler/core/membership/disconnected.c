/* Disconnected workers. A worker whose connection broke or that is restarted usually comes back
 * within seconds. A job that needs it is not refused in the meantime. After DISCONNECTED_NS a
 * worker is no longer expected. Jobs that were accepted by then stay.
 *
 * Invariant: a worker that is ready is not in the list. */
#include "scheduler/core/membership/disconnected.h"

#include "graph/base/text.h"
#include "scheduler/core/model/model.h"

#define DISCONNECTED_NS (60 * GW_NS_PER_S)

static bool is_waited_for(const struct gw_sched *sched, const struct gw_lost_worker *item)
{
    return sched->now_ns - item->lost_ns < DISCONNECTED_NS;
}

/* Returns how many ranks (or ordinary tasks) of the shape would fit on the disconnected worker. */
static uint64_t ranks_of(const struct gw_resource_class *shape, const struct gw_lost_worker *item)
{
    uint64_t ranks = shape->slots ? item->slots / shape->slots : GW_SLOTLESS_MAX;
    uint64_t gpus = gw_sched_queue_class_gpus(shape);
    if (shape->memory_bytes && item->memory_bytes / shape->memory_bytes < ranks)
        ranks = item->memory_bytes / shape->memory_bytes;
    uint64_t each = shape->gpu_fraction ? GW_GPU_WHOLE / shape->gpu_fraction : 1;
    uint64_t have = item->gpus;
    /* Whole GPUs and MIG instances do not mix. The kind that the task gets is not known yet. */
    if (gpus > 1 || gw_sched_gpu_has_kind(shape))
        have -= gpus > 1 || have > 2 * item->instances ? item->instances : have - item->instances;
    if (gpus && have * each / gpus < ranks)
        ranks = have * each / gpus;
    return !shape->per_node ? ranks : ranks >= shape->per_node ? shape->per_node : 0;
}

static struct gw_lost_worker of_draining(const struct gw_worker *worker)
{
    return (struct gw_lost_worker){.memory_bytes = worker->memory_bytes,
                                   .slots = worker->slots,
                                   .gpus = gw_sched_gpu_twin_own(worker),
                                   .instances = gw_sched_lost_worker_instances(worker)};
}

bool gw_sched_disconnected_could(const struct gw_sched *sched,
                                 const struct gw_resource_class *shape)
{
    const struct gw_resource_class least =
        gw_sched_gang_size_shape(shape, gw_sched_gang_size_least(shape));
    /* A gang with a rank layout waits for the hosts that it names in any case. */
    if (shape->calls || gw_sched_places_of(shape))
        return false;
    uint64_t ranks = gw_sched_ranks_ever(sched, &least);
    for (uint32_t i = 0; sched->disconnected && i < sched->disconnected->count; i++)
        if (is_waited_for(sched, &sched->disconnected->items[i]))
            ranks += ranks_of(&least, &sched->disconnected->items[i]);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_REJOINING)
            continue;
        const struct gw_lost_worker item = of_draining(worker);
        ranks += ranks_of(&least, &item);
    }
    return ranks >= gw_sched_gang_size_least(shape);
}

void gw_sched_disconnected_explain(const struct gw_sched *sched,
                                   const struct gw_resource_class *shape, char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    char passed[GW_TEXT_DURATION_ROOM];
    *to = '\0';
    if (gw_sched_ranks_hold_least(sched, shape) || !gw_sched_disconnected_could(sched, shape))
        return;
    gw_text_say(&text,
                "; it does not fit on the connected workers, but may fit when these are back:");
    for (uint32_t i = 0; sched->disconnected && i < sched->disconnected->count; i++) {
        const struct gw_lost_worker *item = &sched->disconnected->items[i];
        if (is_waited_for(sched, item))
            gw_text_say(&text, " %s on %s, lost %s ago;", item->name, item->host,
                        gw_text_duration(sched->now_ns - item->lost_ns, passed));
    }
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_REJOINING)
            gw_text_say(&text, " %s on %s, which still ends its earlier tasks;",
                        worker->remote->name, worker->host);
    }
    if (text.used > 0 && text.used < bytes && to[text.used - 1] == ';')
        to[text.used - 1] = '\0';
}
