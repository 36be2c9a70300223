/* Packing: selects the workers for the ranks of a gang. The same free room always gives the same
 * selection, because every sort order ends with the worker's id. */
#include "scheduler/core/placement/packing.h"

#include "scheduler/core/model/model.h"

#include <stdlib.h>
#include <string.h>

uint32_t gw_sched_packing_most(const struct gw_resource_class *shape,
                               const struct gw_worker *worker)
{
    const struct gw_places *places = gw_sched_places_of(shape);
    if (places) {
        uint32_t at = gw_sched_places_at(places, worker);
        return at == GW_NO_INDEX ? 0 : places->items[at].ranks;
    }
    return shape->per_node ? shape->per_node : shape->ranks;
}

static int by_host(const void *a, const void *b)
{
    const struct gw_pack *x = a, *y = b;
    int hosts = strcmp(x->worker->host, y->worker->host);
    return hosts ? hosts : x->worker->id < y->worker->id ? -1 : 1;
}

/* Order of the rank numbers: the worker with the checkpoint first, then by host. */
static int by_rank(const void *a, const void *b)
{
    const struct gw_pack *x = a, *y = b;
    return x->home != y->home ? (x->home ? -1 : 1) : by_host(a, b);
}

/* Workers with the most room first, so that few workers and few hosts are selected. */
static int by_most(const void *a, const void *b)
{
    const struct gw_pack *x = a, *y = b;
    return x->ranks != y->ranks ? (x->ranks > y->ranks ? -1 : 1) : by_host(a, b);
}

/* The same order, but the worker with the checkpoint comes first. */
static int by_most_home(const void *a, const void *b)
{
    const struct gw_pack *x = a, *y = b;
    return x->home != y->home ? (x->home ? -1 : 1) : by_most(a, b);
}

/* Order: the worker with the checkpoint, workers with near GPUs, then workers with the least spare
 * room. */
static int by_least(const void *a, const void *b)
{
    const struct gw_pack *x = a, *y = b;
    if (x->home != y->home)
        return x->home ? -1 : 1;
    if (x->near != y->near)
        return x->near ? -1 : 1;
    return x->ranks != y->ranks ? (x->ranks < y->ranks ? -1 : 1) : by_host(a, b);
}

/* Gives `ranks` ranks to each of `nodes` workers. */
static uint32_t pack_nodes(struct gw_pack *packs, uint32_t count, uint32_t nodes, uint32_t ranks)
{
    uint32_t fit = 0;
    for (uint32_t i = 0; i < count; i++)
        if (packs[i].ranks >= ranks) {
            struct gw_pack pack = packs[i];
            packs[i] = packs[fit];
            packs[fit++] = pack;
        }
    if (fit < nodes)
        return 0;
    qsort(packs, fit, sizeof *packs, by_least);
    for (uint32_t i = 0; i < nodes; i++)
        packs[i].ranks = ranks;
    return nodes;
}

static uint32_t pack_few(struct gw_pack *packs, uint32_t count, uint32_t ranks)
{
    uint32_t taken = 0;
    qsort(packs, count, sizeof *packs, by_most_home);
    for (; taken < count && ranks > 0; taken++) {
        if (packs[taken].ranks > ranks)
            packs[taken].ranks = ranks;
        ranks -= packs[taken].ranks;
    }
    return ranks > 0 ? 0 : taken;
}

/* Gives one rank in turn to each worker that has room for one more. */
static uint32_t pack_spread(struct gw_pack *packs, uint32_t count, uint32_t ranks)
{
    uint64_t room = 0;
    for (uint32_t i = 0; i < count; i++)
        room += packs[i].ranks;
    if (room < ranks)
        return 0;
    /* If there are more workers than ranks, each selected worker gets one rank. */
    qsort(packs, count, sizeof *packs, count > ranks ? by_most_home : by_most);
    uint32_t level = 0, first_round = count < ranks ? count : ranks, left = ranks, extra = 0;
    /* In the sort order, the workers that have room for more ranks come first. */
    while (left > 0) {
        uint32_t with_room = 0;
        while (with_room < first_round && packs[with_room].ranks > level)
            with_room++;
        extra = left < with_room ? left : with_room;
        left -= extra;
        level++;
    }
    for (uint32_t i = 0; i < first_round; i++) {
        uint32_t full = i < extra ? level : level - 1;
        if (packs[i].ranks > full)
            packs[i].ranks = full;
    }
    return first_round;
}

/* Selects one worker for each entry of the rank layout, in its order. If several workers match an
 * entry, prefers the one with the checkpoint, then the one with the least spare room. */
static uint32_t pack_places(const struct gw_places *places, struct gw_pack *packs, uint32_t count)
{
    struct gw_pack taken[GW_PAIRS_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = gw_sched_places_at(places, packs[i].worker);
        if (at != GW_NO_INDEX && packs[i].ranks >= places->items[at].ranks &&
            (!taken[at].worker || by_least(&packs[i], &taken[at]) < 0))
            taken[at] = packs[i];
    }
    for (uint32_t i = 0; i < places->count; i++) {
        if (!taken[i].worker)
            return 0;
        taken[i].ranks = places->items[i].ranks;
    }
    memcpy(packs, taken, places->count * sizeof *packs);
    return places->count;
}

/* Returns true if the worker with the checkpoint has no room for all ranks. It gets rank 0
 * nevertheless. */
static bool home_is_small(const struct gw_pack *packs, uint32_t count, uint32_t ranks)
{
    for (uint32_t i = 0; i < count; i++)
        if (packs[i].home)
            return packs[i].ranks < ranks;
    return false;
}

uint32_t gw_sched_packing(const struct gw_resource_class *shape, struct gw_pack *packs,
                          uint32_t count)
{
    uint32_t taken = 0;
    if (gw_sched_places_of(shape))
        return pack_places(gw_sched_places_of(shape), packs, count);
    if (shape->per_node)
        taken = pack_nodes(packs, count, shape->ranks / shape->per_node, shape->per_node);
    else if (shape->spread)
        taken = pack_spread(packs, count, shape->ranks);
    if (!shape->per_node && !shape->spread) {
        if (!home_is_small(packs, count, shape->ranks))
            taken = pack_nodes(packs, count, 1, shape->ranks);
        if (taken == 0)
            taken = pack_few(packs, count, shape->ranks);
    }
    qsort(packs, taken, sizeof *packs, by_rank);
    return taken;
}
