/* Resource classes and ready queues.
 *
 * A resource class (struct gw_resource_class) has ready queues, one for each job and priority. They
 * are ordered by priority (plus what a wait has added, see ageing.h), then by the age of the job.
 * With a policy of accounts, a wait adds nothing; see placement/policy.h.
 *
 * Queues whose places change together (ranks, quotas) are a group with a heap of its own, and the
 * class has a heap of groups. So a new ranking costs time by the number of users, not of jobs.
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

static inline bool less(const struct gw_queue *a, struct gw_queue_key of_a,
                        const struct gw_queue *b, struct gw_queue_key of_b)
{
    if (a->job->payer && b->job->payer) { /* calls of actors have none, and are in no heap */
        if (of_a.quota != of_b.quota)
            return of_a.quota < of_b.quota;
        if (of_a.level != of_b.level)
            return of_a.level > of_b.level;
        if (of_a.rank != of_b.rank)
            return of_a.rank < of_b.rank;
    } else if (of_a.level != of_b.level) {
        return of_a.level > of_b.level;
    }
    if (a->job->age != b->job->age)
        return a->job->age < b->job->age;
    if (a->job->depth != b->job->depth)
        return a->job->depth > b->job->depth;
    return a->job->id < b->job->id;
}

static inline struct gw_queue_key key(const struct gw_queue *queue)
{
    const struct gw_payer *payer = queue->job->payer;
    if (!payer)
        return (struct gw_queue_key){.level = gw_sched_ageing_level(queue)};
    return (struct gw_queue_key){queue->priority, gw_sched_queue_quota(queue), payer->rank};
}

static bool queue_less(const struct gw_queue *a, const struct gw_queue *b)
{
    return less(a, key(a), b, key(b));
}

bool gw_sched_queue_less(const struct gw_queue *a, struct gw_queue_key of_a,
                         const struct gw_queue *b, struct gw_queue_key of_b)
{
    return less(a, of_a, b, of_b);
}

static void heap_set(struct gw_queue **items, size_t at, struct gw_queue *queue)
{
    items[at] = queue;
    queue->heap_at = (uint32_t)at;
}

GW_HEAP(heap, struct gw_queue *, queue_less, heap_set)

/* -- Groups ----------------------------------------------------------------------------------- */

static bool group_less(const struct gw_queue_group *a, const struct gw_queue_group *b)
{
    return queue_less(a->heap.items[0], b->heap.items[0]);
}

static void groups_set(struct gw_queue_group **items, size_t at, struct gw_queue_group *group)
{
    items[at] = group;
    group->heap_at = (uint32_t)at;
}

GW_HEAP(groups, struct gw_queue_group *, group_less, groups_set)

static bool belongs(const struct gw_queue *queue, const struct gw_queue_group *group)
{
    const struct gw_job *job = queue->job;
    return group->payer == job->payer &&
           (!job->payer ||
            (group->priority == queue->priority && group->submit_queue == job->submit_queue &&
             group->quota_kind == gw_account_quota_kind(job)));
}

/* Returns the group of a queue. A new group is empty, and not in the heap of groups yet. */
static struct gw_queue_group *group_for(const struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    const struct gw_job *job = queue->job;
    for (size_t i = 0; i < shape->groups.count; i++)
        if (belongs(queue, shape->groups.items[i]))
            return shape->groups.items[i];
    struct gw_queue_group *group = shape->spare;
    shape->spare = NULL;
    if (!group) {
        group = calloc(1, sizeof *group);
        GW_MUST_PTR(group);
    }
    group->payer = job->payer;
    group->submit_queue = job->submit_queue;
    group->priority = queue->priority;
    group->quota_kind = job->payer ? gw_account_quota_kind(job) : 0;
    group->quota = job->payer ? gw_account_quota(queue, NULL) : GW_QUOTA_WITHIN;
    return group;
}

static void free_group(struct gw_queue_group *group)
{
    if (group)
        gw_array_deinit(&group->heap);
    free(group);
}

void gw_sched_queue_groups_deinit(struct gw_resource_class *shape)
{
    free_group(shape->spare);
    gw_array_deinit(&shape->groups);
}

void gw_sched_queue_heap_push(struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    struct gw_queue_group *group = group_for(queue);
    queue->group = group;
    GW_MUST(gw_array_push(&group->heap, queue));
    heap_up(group->heap.items, group->heap.count - 1);
    if (group->heap.count == 1) {
        GW_MUST(gw_array_push(&shape->groups, group));
        group->heap_at = (uint32_t)shape->groups.count - 1;
    }
    groups_up(shape->groups.items, group->heap_at);
    shape->nested += queue->job->depth > 0;
}

void gw_sched_queue_heap_remove(struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    struct gw_queue_group *group = queue->group;
    const uint32_t at = queue->heap_at;
    queue->quota = group->quota;
    queue->group = NULL;
    queue->heap_at = GW_NO_INDEX;
    heap_remove(group->heap.items, &group->heap.count, at);
    shape->nested -= queue->job->depth > 0;
    if (group->heap.count) {
        groups_down(shape->groups.items, shape->groups.count, group->heap_at);
        return;
    }
    groups_remove(shape->groups.items, &shape->groups.count, group->heap_at);
    free_group(shape->spare);
    shape->spare = group;
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
    gw_sched_queue_heap_remove(queue);
    gw_sched_queue_heap_push(queue);
}

static bool review(uint8_t *quota, const struct gw_queue *queue)
{
    const uint8_t before = *quota;
    *quota = gw_account_quota(queue, NULL);
    return *quota != before;
}

bool gw_sched_queues_review_quotas(struct gw_sched *sched)
{
    bool changed = false;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        for (size_t k = 0; shape && k < shape->groups.count; k++)
            changed |=
                review(&shape->groups.items[k]->quota, shape->groups.items[k]->heap.items[0]);
        for (size_t k = 0; shape && k < shape->parked.count; k++)
            (void)review(&shape->parked.items[k]->quota, shape->parked.items[k]);
    }
    return changed;
}

void gw_sched_queues_reorder(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        for (size_t at = shape ? shape->groups.count / 2 : 0; at-- > 0;)
            groups_down(shape->groups.items, shape->groups.count, at);
    }
    sched->freed = true;
}

static void regroup(struct gw_resource_class *shape)
{
    GW_ARRAY(struct gw_queue *) queues = {0};
    for (size_t i = 0; i < shape->groups.count; i++) {
        struct gw_queue_group *group = shape->groups.items[i];
        for (size_t k = 0; k < group->heap.count; k++)
            GW_MUST(gw_array_push(&queues, group->heap.items[k]));
        free_group(group);
    }
    gw_array_clear(&shape->groups);
    shape->nested = 0;
    for (size_t i = 0; i < queues.count; i++)
        gw_sched_queue_heap_push(queues.items[i]);
    gw_array_deinit(&queues);
}

void gw_sched_queues_regroup(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i])
            regroup(sched->shapes.items[i]);
    (void)gw_sched_queues_review_quotas(sched);
    gw_sched_queues_reorder(sched);
}

bool gw_sched_queue_park(struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    if (shape->parked.count == GW_PARKED_MAX)
        return false;
    gw_sched_queue_heap_remove(queue);
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
    while (shape->groups.count) {
        struct gw_queue *queue = shape->groups.items[0]->heap.items[0];
        if (queue->ready.count)
            return queue;
        gw_sched_queue_heap_remove(queue);
    }
    return NULL;
}

struct gw_queue *gw_sched_queue_nested(struct gw_resource_class *shape)
{
    struct gw_queue *first = NULL;
    for (size_t i = 0; shape->nested && i < shape->groups.count; i++) {
        const struct gw_queue_group *group = shape->groups.items[i];
        for (size_t k = 0; k < group->heap.count; k++) {
            struct gw_queue *queue = group->heap.items[k];
            if (queue->job->depth == 0 && group->payer)
                break; /* all others are so, too */
            if (queue->job->depth > 0 && queue->ready.count && (!first || queue_less(queue, first)))
                first = queue;
        }
    }
    return first;
}

bool gw_sched_queue_before(const struct gw_queue *a, const struct gw_queue *b)
{
    const bool tied = a->job->payer ? a->priority == b->priority
                                    : gw_sched_ageing_level(a) == gw_sched_ageing_level(b);
    if (a->job != b->job || gw_sched_queue_quota(a) != gw_sched_queue_quota(b) || !tied)
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
