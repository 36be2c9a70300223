/* Away. A connection that breaks, or a worker that is started anew, is back in seconds: what comes
 * for it meanwhile is not told that it never fits. After AWAY_NS nobody is waited for; what was
 * accepted stays.
 *
 * Always: a worker that is ready is not in the list. */
#include "scheduler/core/away.h"

#include "graph/base/text.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/gpu_twin.h"
#include "scheduler/core/placement.h"
#include "scheduler/core/places.h"
#include "scheduler/core/queue.h"

#include <stdlib.h>
#include <string.h>

enum { AWAY_MAX = 64, NAME_BYTES = 128 };
#define AWAY_NS (60 * GW_NS_PER_S)

struct gw_away {
    struct gw_away_worker {
        char name[NAME_BYTES], host[NAME_BYTES];
        uint64_t incarnation, lost_ns, memory_bytes;
        uint32_t slots, gpus, instances; /* its own; instances: of the gpus */
    } items[AWAY_MAX];
    uint32_t count;
};

void gw_sched_away_deinit(struct gw_sched *sched)
{
    free(sched->away);
    sched->away = NULL;
}

static void forget(struct gw_away *away, uint32_t at)
{
    memmove(&away->items[at], &away->items[at + 1], (--away->count - at) * sizeof *away->items);
}

static bool is_same(const struct gw_away_worker *item, const struct gw_worker *worker)
{
    return item->incarnation == worker->incarnation ||
           (strcmp(item->name, worker->remote->name) == 0 && strcmp(item->host, worker->host) == 0);
}

bool gw_sched_away_knows(const struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++)
        if (is_same(&sched->away->items[i], worker))
            return true;
    return false;
}

bool gw_sched_away_has(const struct gw_sched *sched, uint64_t incarnation)
{
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++)
        if (sched->away->items[i].incarnation == incarnation)
            return true;
    return false;
}

void gw_sched_away_on_ready(struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = sched->away ? sched->away->count : 0; i-- > 0;)
        if (is_same(&sched->away->items[i], worker))
            forget(sched->away, i);
}

static uint32_t instances_of(const struct gw_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        count += worker->gpus[i].twin == GW_NONE && gw_sched_gpu_is_instance(&worker->gpus[i]);
    return count;
}

void gw_sched_away_on_lost(struct gw_sched *sched, const struct gw_worker *worker)
{
    if (!worker->host) /* it has not said what it has */
        return;
    if (!sched->away)
        GW_MUST_PTR(sched->away = calloc(1, sizeof *sched->away));
    gw_sched_away_on_ready(sched, worker);
    if (sched->away->count == AWAY_MAX)
        forget(sched->away, 0);
    struct gw_away_worker *item = &sched->away->items[sched->away->count++];
    *item = (struct gw_away_worker){.incarnation = worker->incarnation,
                                    .lost_ns = sched->now_ns,
                                    .memory_bytes = worker->memory_bytes,
                                    .slots = worker->slots,
                                    .gpus = gw_sched_gpus_own(worker),
                                    .instances = instances_of(worker)};
    struct gw_text name = {item->name, sizeof item->name, 0};
    struct gw_text host = {item->host, sizeof item->host, 0};
    gw_text_say(&name, "%s", worker->remote->name);
    gw_text_say(&host, "%s", worker->host);
}

void gw_sched_away_on_given(struct gw_sched *sched, uint64_t incarnation, bool instance)
{
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++) {
        struct gw_away_worker *item = &sched->away->items[i];
        if (item->incarnation != incarnation || item->gpus == 0)
            continue;
        item->gpus--;
        item->instances -= instance && item->instances > 0;
    }
}

static bool is_waited_for(const struct gw_sched *sched, const struct gw_away_worker *item)
{
    return sched->now_ns - item->lost_ns < AWAY_NS;
}

/* What of a gang, or of its like, one of them would have room for. */
static uint64_t ranks_of(const struct gw_shape *shape, const struct gw_away_worker *item)
{
    uint64_t ranks = item->slots / shape->slots, gpus = gw_sched_shape_gpus(shape);
    if (shape->memory_bytes && item->memory_bytes / shape->memory_bytes < ranks)
        ranks = item->memory_bytes / shape->memory_bytes;
    uint64_t each = shape->gpu_share ? GW_GPU_WHOLE / shape->gpu_share : 1;
    uint64_t have = item->gpus;
    if (gpus > 1 || gw_sched_gpu_has_kind(shape)) /* of one kind, which one is not known yet */
        have -= gpus > 1 || have > 2 * item->instances ? item->instances : have - item->instances;
    if (gpus && have * each / gpus < ranks)
        ranks = have * each / gpus;
    return !shape->per_node ? ranks : ranks >= shape->per_node ? shape->per_node : 0;
}

static struct gw_away_worker of_draining(const struct gw_worker *worker)
{
    return (struct gw_away_worker){.memory_bytes = worker->memory_bytes,
                                   .slots = worker->slots,
                                   .gpus = gw_sched_gpus_own(worker),
                                   .instances = instances_of(worker)};
}

bool gw_sched_away_could(const struct gw_sched *sched, const struct gw_shape *shape)
{
    const struct gw_shape least = gw_sched_elastic_shape(shape, gw_sched_elastic_least(shape));
    if (shape->slots == 0 || gw_sched_places_of(shape)) /* named hosts are waited for anyway */
        return false;
    uint64_t ranks = gw_sched_ranks_ever(sched, &least);
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++)
        if (is_waited_for(sched, &sched->away->items[i]))
            ranks += ranks_of(&least, &sched->away->items[i]);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_DRAINING)
            continue;
        const struct gw_away_worker item = of_draining(worker);
        ranks += ranks_of(&least, &item);
    }
    return ranks >= gw_sched_elastic_least(shape);
}

void gw_sched_away_explain(const struct gw_sched *sched, const struct gw_shape *shape, char *to,
                           size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    *to = '\0';
    if (gw_sched_elastic_could(sched, shape) || !gw_sched_away_could(sched, shape))
        return;
    gw_text_say(&text, "; it does not fit what is here, but may fit when these are back:");
    for (uint32_t i = 0; sched->away && i < sched->away->count; i++) {
        const struct gw_away_worker *item = &sched->away->items[i];
        if (is_waited_for(sched, item))
            gw_text_say(&text, " %s on %s, lost %.1f s ago;", item->name, item->host,
                        (double)(sched->now_ns - item->lost_ns) / 1e9);
    }
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_DRAINING)
            gw_text_say(&text, " %s on %s, which ends what it ran before;", worker->remote->name,
                        worker->host);
    }
    if (text.used > 0 && text.used < bytes && to[text.used - 1] == ';')
        to[text.used - 1] = '\0';
}
