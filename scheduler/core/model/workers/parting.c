/* Pairs of workers that could not reach each other.
 *
 * There is one entry for each pair of worker names. The entry stays when its time is over, because
 * the next failure of the pair continues its count. It is removed when a gang with ranks at both
 * workers has ended well, or when newer entries need its place. */
#include "scheduler/core/model/workers/parting.h"

#include <stdio.h>
#include <string.h>

static bool is_pair(const struct gw_parting *parting, const char *a, const char *b)
{
    return (strcmp(parting->names[0], a) == 0 && strcmp(parting->names[1], b) == 0) ||
           (strcmp(parting->names[0], b) == 0 && strcmp(parting->names[1], a) == 0);
}

static struct gw_parting *find(const struct gw_sched *sched, const char *a, const char *b)
{
    for (size_t i = 0; i < sched->partings.count; i++)
        if (is_pair(&sched->partings.items[i], a, b))
            return &sched->partings.items[i];
    return NULL;
}

static void forget(struct gw_sched *sched, size_t at)
{
    memmove(&sched->partings.items[at], &sched->partings.items[at + 1],
            (--sched->partings.count - at) * sizeof *sched->partings.items);
}

void gw_sched_parting_begin(struct gw_sched *sched, const struct gw_worker *a,
                            const struct gw_worker *b)
{
    const char *name = a->remote->name, *other = b->remote->name;
    struct gw_parting *parting = find(sched, name, other);
    if (!parting) {
        if (sched->partings.count == GW_PARTINGS_MAX) /* drop the oldest entry */
            forget(sched, 0);
        struct gw_parting fresh = {0};
        (void)snprintf(fresh.names[0], sizeof fresh.names[0], "%s", name);
        (void)snprintf(fresh.names[1], sizeof fresh.names[1], "%s", other);
        GW_MUST(gw_array_push(&sched->partings, fresh));
        parting = &sched->partings.items[sched->partings.count - 1];
    }
    uint64_t for_ns = GW_PARTING_NS_MAX;
    if (parting->failures < 8 && GW_PARTING_NS << parting->failures < for_ns)
        for_ns = GW_PARTING_NS << parting->failures;
    parting->failures++;
    parting->until_ns = sched->now_ns + for_ns;
    parting->over = false;
}

void gw_sched_parting_end(struct gw_sched *sched, const struct gw_worker *a,
                          const struct gw_worker *b)
{
    const struct gw_parting *parting =
        sched->partings.count ? find(sched, a->remote->name, b->remote->name) : NULL;
    if (!parting)
        return;
    forget(sched, (size_t)(parting - sched->partings.items));
    sched->freed = true;
}

bool gw_sched_parting_among(const struct gw_sched *sched, const struct gw_pack *reserved_ranks,
                            uint32_t count, const struct gw_worker *pair[2])
{
    for (size_t i = 0; i < sched->partings.count; i++) {
        const struct gw_parting *parting = &sched->partings.items[i];
        uint32_t found = 0;
        for (uint32_t k = 0; k < count && !parting->over && found < 2; k++)
            if (strcmp(reserved_ranks[k].worker->remote->name, parting->names[0]) == 0 ||
                strcmp(reserved_ranks[k].worker->remote->name, parting->names[1]) == 0)
                pair[found++] = reserved_ranks[k].worker;
        if (found == 2)
            return true;
    }
    return false;
}

bool gw_sched_parting_any(const struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->partings.count; i++)
        if (!sched->partings.items[i].over)
            return true;
    return false;
}

void gw_sched_parting_explain(const struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_text *text)
{
    char left[GW_TEXT_DURATION_ROOM];
    uint32_t said = 0;
    for (size_t i = 0; i < sched->partings.count && shape->ranks && said < 3; i++) {
        const struct gw_parting *parting = &sched->partings.items[i];
        if (parting->over)
            continue;
        gw_text_say(
            text, "%s %s and %s (tried again in %s at the latest)",
            said++
                ? ","
                : "; no gang has ranks at both workers of a pair that could not reach each other:",
            parting->names[0], parting->names[1],
            gw_text_duration(
                parting->until_ns > sched->now_ns ? parting->until_ns - sched->now_ns : 0, left));
    }
}

void gw_sched_partings_on_tick(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->partings.count; i++)
        if (!sched->partings.items[i].over && sched->partings.items[i].until_ns <= sched->now_ns)
            sched->partings.items[i].over = sched->freed = true;
}

uint64_t gw_sched_partings_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (size_t i = 0; i < sched->partings.count; i++)
        if (!sched->partings.items[i].over && sched->partings.items[i].until_ns < deadline_ns)
            deadline_ns = sched->partings.items[i].until_ns;
    return deadline_ns;
}
