/* Cooling.
 *
 * One entry a worker's name and kind; it stays when its time is over, because the next failure
 * counts on from there, until a gang (a task with files) ends well at that worker or newer entries
 * push it out. */
#include "scheduler/core/model/workers/cooling.h"

#include <stdio.h>
#include <string.h>

static struct gw_cooling *find(const struct gw_sched *sched, const char *name, bool files)
{
    for (size_t i = 0; i < sched->coolings.count; i++)
        if (sched->coolings.items[i].files == files &&
            strcmp(sched->coolings.items[i].name, name) == 0)
            return &sched->coolings.items[i];
    return NULL;
}

void gw_sched_cooling_begin(struct gw_sched *sched, const struct gw_worker *worker)
{
    GW_FACT(sched, worker_cooled, .name = worker->remote->name);
}

void gw_sched_apply_worker_cooled(struct gw_sched *sched, const struct gw_fact_worker_cooled *fact)
{
    struct gw_cooling *cooling = find(sched, fact->name, fact->files);
    if (!cooling) {
        if (sched->coolings.count == GW_COOLINGS_MAX) { /* the oldest goes */
            memmove(sched->coolings.items, sched->coolings.items + 1,
                    (GW_COOLINGS_MAX - 1) * sizeof *sched->coolings.items);
            sched->coolings.count--;
        }
        struct gw_cooling fresh = {.files = fact->files};
        (void)snprintf(fresh.name, sizeof fresh.name, "%s", fact->name);
        GW_MUST(gw_array_push(&sched->coolings, fresh));
        cooling = &sched->coolings.items[sched->coolings.count - 1];
    }
    uint64_t for_ns = GW_COOLING_NS_MAX;
    if (cooling->failures < 16 && GW_COOLING_NS << cooling->failures < for_ns)
        for_ns = GW_COOLING_NS << (GW_PLANTED(751) ? 0 : cooling->failures);
    cooling->failures++;
    cooling->until_ns = sched->now_ns + for_ns;
    cooling->over = false;
}

void gw_sched_cooling_end(struct gw_sched *sched, const struct gw_worker *worker)
{
    if (sched->coolings.count && find(sched, worker->remote->name, false) && !GW_PLANTED(752))
        GW_FACT(sched, worker_warmed, .name = worker->remote->name);
}

void gw_sched_cooling_files_end(struct gw_sched *sched, const struct gw_worker *worker)
{
    if (sched->coolings.count && find(sched, worker->remote->name, true))
        GW_FACT(sched, worker_warmed, .name = worker->remote->name, .files = true);
}

void gw_sched_apply_worker_warmed(struct gw_sched *sched, const struct gw_fact_worker_warmed *fact)
{
    size_t at = (size_t)(find(sched, fact->name, fact->files) - sched->coolings.items);
    memmove(&sched->coolings.items[at], &sched->coolings.items[at + 1],
            (--sched->coolings.count - at) * sizeof *sched->coolings.items);
    sched->freed = true;
}

static uint64_t left_ns(const struct gw_sched *sched, const struct gw_worker *worker, bool files)
{
    const struct gw_cooling *cooling =
        sched->coolings.count ? find(sched, worker->remote->name, files) : NULL;
    return cooling && !cooling->over && cooling->until_ns > sched->now_ns
               ? cooling->until_ns - sched->now_ns
               : 0;
}

uint64_t gw_sched_cooling_files_left_ns(const struct gw_sched *sched,
                                        const struct gw_worker *worker)
{
    return left_ns(sched, worker, true);
}

uint64_t gw_sched_cooling_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                  const struct gw_shape *shape)
{
    uint64_t ranks_ns = shape->ranks ? left_ns(sched, worker, false) : 0;
    uint64_t files_ns = shape->files && !GW_PLANTED(753) ? left_ns(sched, worker, true) : 0;
    return ranks_ns > files_ns ? ranks_ns : files_ns;
}

void gw_sched_coolings_on_tick(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->coolings.count; i++)
        if (!sched->coolings.items[i].over && sched->coolings.items[i].until_ns <= sched->now_ns)
            GW_FACT(sched, cooling_over, .at = (uint32_t)i);
}

void gw_sched_apply_cooling_over(struct gw_sched *sched, const struct gw_fact_cooling_over *fact)
{
    sched->coolings.items[fact->at].over = true;
    sched->freed = true;
}

uint64_t gw_sched_coolings_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (size_t i = 0; i < sched->coolings.count && !GW_PLANTED(754); i++)
        if (!sched->coolings.items[i].over && sched->coolings.items[i].until_ns < deadline_ns)
            deadline_ns = sched->coolings.items[i].until_ns;
    return deadline_ns;
}
