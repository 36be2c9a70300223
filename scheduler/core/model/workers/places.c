/* Rank layouts: fixed numbers of ranks for named workers. Each worker takes at most one entry of
 * the layout, so that two entries never count the same room. */
#include "scheduler/core/model/workers/places.h"

#include "graph/base/text.h"
#include "scheduler/core/model/needed.h"
#include "scheduler/core/model/worker_name.h"
#include "scheduler/core/model/workers/gang_size.h"

#include <string.h>

const struct gw_places *gw_sched_places_of(const struct gw_resource_class *shape)
{
    return shape->need && shape->need->places.count ? &shape->need->places : NULL;
}

uint32_t gw_sched_places_at(const struct gw_places *places, const struct gw_worker *worker)
{
    uint32_t host = GW_NO_INDEX;
    for (uint32_t i = 0; i < places->count; i++) {
        if (strcmp(places->items[i].name, worker->remote->name) == 0)
            return i;
        if (host == GW_NO_INDEX && gw_sched_worker_name_is(worker, places->items[i].name))
            host = i;
    }
    return host;
}

/* Finds for each entry the largest number of ranks that an empty worker could run. workers[i] is
 * that worker. */
static void find_most(const struct gw_sched *sched, const struct gw_resource_class *shape,
                      uint64_t most[static GW_PAIRS_MAX],
                      const struct gw_worker *workers[static GW_PAIRS_MAX])
{
    const struct gw_places *places = gw_sched_places_of(shape);
    memset(most, 0, GW_PAIRS_MAX * sizeof *most);
    memset(workers, 0, GW_PAIRS_MAX * sizeof *workers);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY)
            continue;
        uint32_t at = gw_sched_places_at(places, worker);
        uint64_t ranks =
            at == GW_NO_INDEX ? 0 : gw_sched_gang_size_ranks_at(sched, worker, shape, true);
        if (at == GW_NO_INDEX || (workers[at] && ranks <= most[at]))
            continue;
        most[at] = ranks;
        workers[at] = worker;
    }
}

uint64_t gw_sched_places_ranks(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    const struct gw_places *places = gw_sched_places_of(shape);
    const struct gw_worker *workers[GW_PAIRS_MAX];
    uint64_t most[GW_PAIRS_MAX], ranks = 0;
    find_most(sched, shape, most, workers);
    for (uint32_t i = 0; i < places->count; i++)
        ranks += most[i] >= places->items[i].ranks ? places->items[i].ranks : 0;
    return ranks;
}

/* Writes ": worker b there has 2 slots, ...", and how many more workers have this name. */
static void describe(const struct gw_sched *sched, const struct gw_places *places,
                     const struct gw_worker *largest, struct gw_text *text)
{
    char size[GW_TEXT_BYTES_ROOM];
    uint32_t count = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        count += worker && worker->state == GW_WORKER_READY &&
                 gw_sched_places_at(places, worker) == gw_sched_places_at(places, largest);
    }
    gw_text_say(text, "worker %s there has %u slot%s, %u GPU%s, %s of memory",
                largest->remote->name, largest->slots, largest->slots == 1 ? "" : "s",
                largest->gpu_count, largest->gpu_count == 1 ? "" : "s",
                gw_text_bytes(largest->memory_bytes, size));
    if (count > 1)
        gw_text_say(text,
                    "; %u workers have this name, but only one of them takes these ranks (--on "
                    "uses all of them)",
                    count);
}

int gw_sched_places_missing(const struct gw_sched *sched, const struct gw_resource_class *shape,
                            const char *need, struct gw_error *error)
{
    const struct gw_places *places = gw_sched_places_of(shape);
    const struct gw_worker *workers[GW_PAIRS_MAX];
    uint64_t most[GW_PAIRS_MAX];
    char what[512];
    struct gw_text text = {what, sizeof what, 0};
    find_most(sched, shape, most, workers);
    for (uint32_t i = 0; i < places->count; i++) {
        const struct gw_places_item *place = &places->items[i];
        if (!workers[i])
            return gw_error_set(
                error, GW_EINFEASIBLE,
                "%u of the gang's %u ranks are to go to the host %s, but some workers on it are "
                "also named by themselves: name either the host or its workers",
                place->ranks, shape->ranks, place->name);
        if (most[i] >= place->ranks)
            continue;
        describe(sched, places, workers[i], &text);
        return gw_error_set(error, GW_EINFEASIBLE,
                            "%u of the gang's %u ranks are to go to %s (each rank %s), which has "
                            "room for %llu: %s",
                            place->ranks, shape->ranks, place->name, need,
                            (unsigned long long)most[i], what);
    }
    return 0;
}
