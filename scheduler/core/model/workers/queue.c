/* Resource classes and ready queues.
 *
 * A resource class (struct gw_resource_class) has a heap of ready queues, one for each job and
 * priority. They are ordered by priority (plus what a wait has added, see ageing.h), then by the
 * age of the job. With a policy of accounts, a wait adds nothing; see placement/policy.h.
 *
 * Jobs that tasks submitted have the age of their root job and come before its waiting tasks, the
 * deepest jobs first. Otherwise all tasks of a job would begin, and wait, before the tasks that
 * they wait for could run. A queue gives its smallest row first, because rows are in the
 * depth-first order of the graph. An empty queue stays in its heap until it comes to the top. */
#include "scheduler/core/model/workers/queue.h"

#include "graph/base/heap.h"
#include "scheduler/core/model/account.h"

#include <stdlib.h>

uint32_t gw_sched_queue_class_gpus(const struct gw_resource_class *shape)
{
    return shape->gpu_if_any ? shape->any_gpus : shape->gpus;
}

/* -- The heap --------------------------------------------------------------------------------- */

static bool queue_less(const struct gw_queue *a, const struct gw_queue *b)
{
    if (a->job->payer && b->job->payer) { /* calls of actors have none, and are in no heap */
        if (a->quota != b->quota)
            return a->quota < b->quota;
        if (a->priority != b->priority)
            return a->priority > b->priority;
        if (a->job->payer->rank != b->job->payer->rank)
            return a->job->payer->rank < b->job->payer->rank;
    } else if (gw_sched_ageing_level(a) != gw_sched_ageing_level(b)) {
        return gw_sched_ageing_level(a) > gw_sched_ageing_level(b);
    }
    if (a->job->age != b->job->age)
        return a->job->age < b->job->age;
    if (a->job->depth != b->job->depth)
        return a->job->depth > b->job->depth;
    return a->job->id < b->job->id;
}

static void heap_set(struct gw_queue **items, size_t at, struct gw_queue *queue)
{
    items[at] = queue;
    queue->heap_at = (uint32_t)at;
}

GW_HEAP(heap, struct gw_queue *, queue_less, heap_set)

void gw_sched_queue_heap_push(struct gw_queue *queue)
{
    if (queue->job->payer)
        queue->quota = gw_account_quota(queue, NULL);
    GW_MUST(gw_array_push(&queue->shape->heap, queue));
    queue->shape->nested += queue->job->depth > 0;
    heap_up(queue->shape->heap.items, queue->shape->heap.count - 1);
}

void gw_sched_queue_heap_remove(struct gw_resource_class *shape, uint32_t at)
{
    shape->heap.items[at]->heap_at = GW_NO_INDEX;
    shape->nested -= shape->heap.items[at]->job->depth > 0;
    heap_remove(shape->heap.items, &shape->heap.count, at);
}

/* -- Queues ----------------------------------------------------------------------------------- */

struct gw_queue *gw_sched_queue_for(struct gw_sched *sched, struct gw_job *job,
                                    struct gw_resource_class *shape, int32_t priority)
{
    for (size_t i = 0; i < job->queues.count; i++) {
        struct gw_queue *queue = job->queues.items[i];
        if (queue->shape == shape && queue->priority == priority)
            return queue;
    }
    struct gw_queue *queue = calloc(1, sizeof *queue);
    GW_MUST_PTR(queue);
    queue->shape = shape;
    queue->job = job;
    queue->priority = priority;
    queue->heap_at = GW_NO_INDEX;
    shape->queues++;
    GW_MUST(gw_array_push(&job->queues, queue));
    return queue;
}

void gw_sched_queue_resift(struct gw_queue *queue)
{
    if (queue->heap_at == GW_NO_INDEX)
        return;
    gw_sched_queue_heap_remove(queue->shape, queue->heap_at);
    gw_sched_queue_heap_push(queue);
}

bool gw_sched_queue_review_quota(struct gw_queue *queue)
{
    const uint8_t before = queue->quota;
    queue->quota = gw_account_quota(queue, NULL);
    return queue->quota != before;
}

void gw_sched_queues_reorder(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        for (size_t at = shape ? shape->heap.count / 2 : 0; at-- > 0;)
            heap_down(shape->heap.items, shape->heap.count, at);
    }
    sched->freed = true;
}

bool gw_sched_queue_park(struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    if (shape->parked.count == GW_PARKED_MAX)
        return false;
    gw_sched_queue_heap_remove(shape, queue->heap_at);
    queue->parked = true;
    GW_MUST(gw_array_push(&shape->parked, queue));
    return true;
}

void gw_sched_queue_unpark(struct gw_resource_class *shape)
{
    for (size_t i = 0; i < shape->parked.count; i++) {
        shape->parked.items[i]->parked = false;
        gw_sched_queue_heap_push(shape->parked.items[i]);
    }
    gw_array_clear(&shape->parked);
}

struct gw_queue *gw_sched_queue_top(struct gw_resource_class *shape)
{
    while (shape->heap.count) {
        struct gw_queue *queue = shape->heap.items[0];
        if (queue->ready.count)
            return queue;
        gw_sched_queue_heap_remove(shape, 0);
    }
    return NULL;
}

struct gw_queue *gw_sched_queue_nested(struct gw_resource_class *shape)
{
    struct gw_queue *first = NULL;
    for (size_t i = 0; shape->nested && i < shape->heap.count; i++) {
        struct gw_queue *queue = shape->heap.items[i];
        if (queue->job->depth > 0 && queue->ready.count && (!first || queue_less(queue, first)))
            first = queue;
    }
    return first;
}

bool gw_sched_queue_before(const struct gw_queue *a, const struct gw_queue *b)
{
    const bool tied = a->job->payer ? a->priority == b->priority
                                    : gw_sched_ageing_level(a) == gw_sched_ageing_level(b);
    if (a->job != b->job || a->quota != b->quota || !tied)
        return queue_less(a, b);
    return gw_bits_first(&a->ready) < gw_bits_first(&b->ready);
}

void gw_sched_queue_block(struct gw_resource_class *shape)
{
    shape->blocked = true;
}

void gw_sched_queue_part(struct gw_resource_class *shape, bool parted)
{
    shape->parted = parted;
}

void gw_sched_queues_unblock(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++) {
        if (!sched->shapes.items[i])
            continue;
        sched->shapes.items[i]->blocked = false;
        gw_sched_queue_unpark(sched->shapes.items[i]);
    }
    sched->freed = false;
}
