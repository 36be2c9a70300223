/* Counts the ranks that the cluster could ever run, and puts workers in quarantine for tasks with
 * files. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/workers/gang_size.h"
#include "scheduler/core/model/workers/places.h"
#include "scheduler/core/model/workers/quarantine.h"

bool gw_sched_ranks_quarantine_files_begin(struct gw_sched *sched, const struct gw_worker *worker,
                                           const struct gw_resource_class *shape)
{
    const uint32_t least = shape->min_ranks ? shape->min_ranks : shape->ranks ? shape->ranks : 1;
    uint64_t others = 0;
    for (size_t i = 0; i < sched->workers.count && others < least; i++) {
        const struct gw_worker *other = sched->workers.items[i];
        if (!other || other == worker || gw_sched_quarantine_files_left_ns(sched, other) > 0)
            continue;
        uint64_t ranks = gw_sched_gang_size_ranks_at(sched, other, shape, true);
        others += ranks < least ? ranks : least;
    }
    if (others < least)
        return false;
    /* Other tasks of the worker may fail at the same moment. */
    if (!gw_sched_quarantine_files_left_ns(sched, worker))
        gw_sched_quarantine_begin(sched, worker, true);
    return true;
}

bool gw_sched_ranks_hold_least(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    struct gw_resource_class least =
        gw_sched_gang_size_shape(shape, gw_sched_gang_size_least(shape));
    return gw_sched_ranks_ever(sched, &least) >= gw_sched_gang_size_least(shape);
}

/* Returns how many of the possible ranks at a worker a gang can use. With per_node set, a worker
 * takes exactly that many ranks or none. */
static uint64_t at_node(const struct gw_resource_class *shape, uint64_t ranks)
{
    return !shape->per_node ? ranks : ranks >= shape->per_node ? shape->per_node : 0;
}

uint64_t gw_sched_ranks_ever(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    uint64_t ranks = 0;
    if (gw_sched_places_of(shape))
        return gw_sched_places_ranks(sched, shape);
    for (size_t i = 0; i < sched->workers.count; i++)
        ranks += at_node(shape,
                         gw_sched_gang_size_ranks_at(sched, sched->workers.items[i], shape, true));
    return ranks;
}

bool gw_sched_ranks_could(const struct gw_sched *sched, struct gw_resource_class *shape)
{
    if (shape->could_epoch != sched->workers_epoch) {
        shape->could_epoch = sched->workers_epoch;
        shape->could = gw_sched_ranks_hold_least(sched, shape);
    }
    return shape->could;
}
