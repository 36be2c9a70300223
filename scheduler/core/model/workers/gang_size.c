/* Decides with how many ranks a gang can start. */
#include "scheduler/core/model/workers/gang_size.h"

#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/quarantine.h"
#include "scheduler/core/model/workers/worker.h"

uint32_t gw_sched_gang_size_least(const struct gw_resource_class *shape)
{
    if (shape->min_ranks)
        return shape->min_ranks;
    return shape->ranks ? shape->ranks : 1;
}

/* All ranks are on one host, whatever their number is. */
bool gw_sched_gang_size_on_one_host(const struct gw_resource_class *shape)
{
    return shape->per_node && shape->per_node == shape->ranks;
}

struct gw_resource_class gw_sched_gang_size_shape(const struct gw_resource_class *shape,
                                                  uint32_t ranks)
{
    struct gw_resource_class other = *shape;
    other.ranks = shape->ranks ? ranks : 0;
    if (gw_sched_gang_size_on_one_host(shape))
        other.per_node = ranks;
    return other;
}

uint64_t gw_sched_gang_size_full_until(const struct gw_sched *sched,
                                       const struct gw_resource_class *shape)
{
    return shape->full_size_timeout_ns > UINT64_MAX - sched->now_ns
               ? UINT64_MAX
               : sched->now_ns + shape->full_size_timeout_ns;
}

uint32_t gw_sched_gang_size_all(const struct gw_gang_attempt *gang)
{
    return gang->job->specs.items[gang->job->tasks.spec[gang->index]].message.ranks;
}

void gw_sched_gang_size_wait(struct gw_sched *sched, struct gw_queue *queue)
{
    if (!queue->shape->min_ranks)
        return;
    queue->full_ns = gw_sched_gang_size_full_until(sched, queue->shape);
    if (!sched->elastic_ns || queue->full_ns < sched->elastic_ns)
        sched->elastic_ns = queue->full_ns;
}

void gw_sched_gang_size_sum_add(struct gw_gang_sum *sum, uint64_t ranks)
{
    const struct gw_resource_class *shape = sum->shape;
    if (gw_sched_gang_size_on_one_host(shape))
        sum->ranks = ranks > sum->ranks ? ranks : sum->ranks;
    else if (!shape->per_node)
        sum->ranks += ranks;
    else if (ranks >= shape->per_node)
        sum->ranks += shape->per_node;
}

/* Returns the number of ranks that fit, up to all, or 0 if fewer than the smallest size fit. */
uint32_t gw_sched_gang_size_of_sum(const struct gw_gang_sum *sum)
{
    const struct gw_resource_class *shape = sum->shape;
    if (sum->ranks >= shape->ranks)
        return shape->ranks;
    if (sum->ranks < gw_sched_gang_size_least(shape))
        return 0;
    return (uint32_t)sum->ranks;
}

/* Counts the ranks on workers that may take ranks at that time. */
uint32_t gw_sched_gang_size_most_at(const struct gw_sched *sched,
                                    const struct gw_resource_class *shape, uint64_t at_ns)
{
    struct gw_gang_sum sum = {.shape = shape};
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        uint64_t ranks = gw_sched_gang_size_ranks_at(sched, worker, shape, true);
        if (ranks && sched->now_ns + gw_sched_quarantine_left_ns(sched, worker, shape) <= at_ns)
            gw_sched_gang_size_sum_add(&sum, ranks > UINT32_MAX ? UINT32_MAX : ranks);
    }
    return gw_sched_gang_size_of_sum(&sum);
}

/* Returns the number of ranks to start a gang with, for the room in `sum`. A gang waits until
 * full_ns for all its ranks. first: this is the first attempt in this term of the scheduler, so
 * more workers may still join. */
uint32_t gw_sched_gang_size_now(const struct gw_sched *sched, const struct gw_gang_sum *sum,
                                uint64_t full_ns, bool first)
{
    uint32_t size = gw_sched_gang_size_of_sum(sum), all = sum->shape->ranks;
    if (size == all || size == 0 || sched->now_ns >= full_ns)
        return size;
    return !first && gw_sched_gang_size_most_at(sched, sum->shape, full_ns) < all ? size : 0;
}

void gw_sched_gang_size_waited(struct gw_sched *sched, uint64_t now_ns)
{
    sched->elastic_ns = 0;
    for (struct gw_queue *queue = sched->ageing; queue; queue = queue->age_next) {
        if (!queue->shape->min_ranks)
            continue;
        if (queue->full_ns <= now_ns)
            queue->shape->blocked = false; /* a gang in this queue may start with fewer ranks now */
        else if (!sched->elastic_ns || queue->full_ns < sched->elastic_ns)
            sched->elastic_ns = queue->full_ns;
    }
}

/* -- Room for ranks --------------------------------------------------------------------------- */

static uint64_t divided(uint64_t have, uint64_t each)
{
    return each ? have / each : UINT64_MAX;
}

static uint64_t smallest(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t least = a < b ? a : b;
    return least < c ? least : c;
}

uint64_t gw_sched_gang_size_ranks_at(const struct gw_sched *sched, const struct gw_worker *worker,
                                     const struct gw_resource_class *shape, bool ever)
{
    if (!worker || worker->state != GW_WORKER_READY || (!ever && !gw_sched_memory_lets(worker)))
        return 0;
    if (!ever && gw_sched_quarantine_left_ns(sched, worker, shape) > 0)
        return 0;
    return smallest(divided(ever ? worker->slots : worker->slots_free, shape->slots),
                    divided(ever ? worker->memory_bytes : worker->memory_free, shape->memory_bytes),
                    gw_sched_need_ranks(worker, shape, ever));
}
