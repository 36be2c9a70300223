/* Quarantine of workers.
 *
 * There is one entry for each name of a worker and kind of quarantine. The entry stays when its
 * time is over, because the next failure continues its count. It is removed when a gang (or a task
 * with files) has ended well at that worker, or when newer entries need its place. */
#include "scheduler/core/model/workers/quarantine.h"

#include <stdio.h>
#include <string.h>

static struct gw_quarantine *find(const struct gw_sched *sched, const char *name, bool files)
{
    for (size_t i = 0; i < sched->quarantines.count; i++)
        if (sched->quarantines.items[i].files == files &&
            strcmp(sched->quarantines.items[i].name, name) == 0)
            return &sched->quarantines.items[i];
    return NULL;
}

void gw_sched_quarantine_begin(struct gw_sched *sched, const struct gw_worker *worker, bool files)
{
    const char *name = worker->remote->name;
    struct gw_quarantine *quarantine = find(sched, name, files);
    if (!quarantine) {
        if (sched->quarantines.count == GW_QUARANTINES_MAX) { /* drop the oldest entry */
            memmove(sched->quarantines.items, sched->quarantines.items + 1,
                    (GW_QUARANTINES_MAX - 1) * sizeof *sched->quarantines.items);
            sched->quarantines.count--;
        }
        struct gw_quarantine fresh = {.files = files};
        (void)snprintf(fresh.name, sizeof fresh.name, "%s", name);
        GW_MUST(gw_array_push(&sched->quarantines, fresh));
        quarantine = &sched->quarantines.items[sched->quarantines.count - 1];
    }
    uint64_t for_ns = GW_QUARANTINE_NS_MAX;
    if (quarantine->failures < 16 && GW_QUARANTINE_NS << quarantine->failures < for_ns)
        for_ns = GW_QUARANTINE_NS << quarantine->failures;
    quarantine->failures++;
    quarantine->until_ns = sched->now_ns + for_ns;
    quarantine->over = false;
}

void gw_sched_quarantine_end(struct gw_sched *sched, const struct gw_worker *worker, bool files)
{
    struct gw_quarantine *quarantine =
        sched->quarantines.count ? find(sched, worker->remote->name, files) : NULL;
    if (!quarantine)
        return;
    size_t at = (size_t)(quarantine - sched->quarantines.items);
    memmove(quarantine, quarantine + 1, (--sched->quarantines.count - at) * sizeof *quarantine);
    sched->freed = true;
}

static uint64_t left_ns(const struct gw_sched *sched, const struct gw_worker *worker, bool files)
{
    const struct gw_quarantine *quarantine =
        sched->quarantines.count ? find(sched, worker->remote->name, files) : NULL;
    return quarantine && !quarantine->over && quarantine->until_ns > sched->now_ns
               ? quarantine->until_ns - sched->now_ns
               : 0;
}

uint64_t gw_sched_quarantine_files_left_ns(const struct gw_sched *sched,
                                           const struct gw_worker *worker)
{
    return left_ns(sched, worker, true);
}

uint64_t gw_sched_quarantine_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                     const struct gw_resource_class *shape)
{
    uint64_t ranks_ns = shape->ranks ? left_ns(sched, worker, false) : 0;
    uint64_t files_ns = shape->files ? left_ns(sched, worker, true) : 0;
    return ranks_ns > files_ns ? ranks_ns : files_ns;
}

void gw_sched_quarantines_on_tick(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->quarantines.count; i++)
        if (!sched->quarantines.items[i].over &&
            sched->quarantines.items[i].until_ns <= sched->now_ns)
            sched->quarantines.items[i].over = sched->freed = true;
}

uint64_t gw_sched_quarantines_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (size_t i = 0; i < sched->quarantines.count; i++)
        if (!sched->quarantines.items[i].over && sched->quarantines.items[i].until_ns < deadline_ns)
            deadline_ns = sched->quarantines.items[i].until_ns;
    return deadline_ns;
}
