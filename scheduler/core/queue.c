/* Shapes and queues.
 *
 * A shape has a heap of queues, one a (job, priority): by priority (and what waiting has added to
 * that, see ageing.h), then by the age of the job.
 * What tasks submitted has the age of their own job and comes before what that still has waiting,
 * the deepest first: else all tasks of a job would begin, and wait, before anything that they wait
 * for runs. A queue gives its smallest row first: rows are in the depth-first order of the graph. A
 * queue that ran empty stays in its heap until it comes to the top. */
#include "scheduler/core/queue.h"

#include "scheduler/core/ageing.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/need.h"
#include "scheduler/core/task.h"

#include <assert.h>
#include <stdlib.h>

static bool shape_equal(const struct gw_shape *a, const struct gw_shape *b)
{
    return a->ranks == b->ranks && a->slots == b->slots && a->gpus == b->gpus &&
           a->gpu_share == b->gpu_share && a->gpu_if_any == b->gpu_if_any && a->alone == b->alone &&
           a->memory_bytes == b->memory_bytes && a->wall_class == b->wall_class &&
           a->per_node == b->per_node && a->spread == b->spread && a->files == b->files &&
           a->min_ranks == b->min_ranks && a->full_wait_ns == b->full_wait_ns &&
           gw_sched_need_equal(a->need, b->need);
}

/* Shapes that nobody uses are kept for the next job that looks the same, but not without end. */
static void shapes_tidy(struct gw_sched *sched)
{
    if (sched->shapes_count < GW_SHAPES_IDLE_MAX)
        return;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_shape *shape = sched->shapes.items[i];
        if (shape && shape->queues == 0 && shape->attempts == 0)
            gw_sched_shape_free(sched, shape);
    }
}

struct gw_shape *gw_sched_shape_for(struct gw_sched *sched, const struct gw_shape *key)
{
    uint32_t free_id = GW_NONE;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_shape *shape = sched->shapes.items[i];
        if (!shape)
            free_id = (uint32_t)i;
        else if (shape_equal(shape, key))
            return shape;
    }
    if (free_id == GW_NONE) {
        shapes_tidy(sched);
        free_id = (uint32_t)sched->shapes.count;
        GW_MUST(gw_array_push(&sched->shapes, NULL));
    }
    struct gw_shape *shape = calloc(1, sizeof *shape);
    GW_MUST_PTR(shape);
    *shape = (struct gw_shape){
        .id = free_id,
        .ranks = key->ranks,
        .slots = key->slots,
        .gpus = key->gpus,
        .gpu_share = key->gpu_share,
        .gpu_if_any = key->gpu_if_any,
        .alone = key->alone,
        .memory_bytes = key->memory_bytes,
        .wall_class = key->wall_class,
        .per_node = key->per_node,
        .spread = key->spread,
        .files = key->files,
        .min_ranks = key->min_ranks,
        .full_wait_ns = key->full_wait_ns,
        .need = gw_sched_need_ref(key->need),
        .candidates_epoch = UINT64_MAX,
    };
    sched->shapes.items[free_id] = shape;
    sched->shapes_count++;
    gw_sched_shape_update(sched, shape);
    return shape;
}

void gw_sched_shape_free(struct gw_sched *sched, struct gw_shape *shape)
{
    assert(!shape->rooms);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && shape->id < worker->lane_count) {
            free(worker->lanes[shape->id]);
            worker->lanes[shape->id] = NULL;
        }
    }
    sched->shapes.items[shape->id] = NULL;
    sched->shapes_count--;
    gw_array_deinit(&shape->heap);
    gw_array_deinit(&shape->parked);
    gw_array_deinit(&shape->candidates);
    gw_sched_need_unref(shape->need);
    free(shape);
}

uint32_t gw_sched_shape_gpus(const struct gw_shape *shape)
{
    return shape->gpu_if_any ? shape->any_gpus : shape->gpus;
}

/* What the cluster, if empty, could give: a rank of gpu_if_any one GPU or none; a gang whole GPUs,
 * else MIG instances. */
void gw_sched_shape_update(const struct gw_sched *sched, struct gw_shape *shape)
{
    shape->any_gpus = 1;
    shape->on_instances = false;
    if ((!shape->gpu_if_any && !gw_sched_gpu_has_kind(shape)) ||
        gw_sched_elastic_could(sched, shape))
        return;
    shape->on_instances = gw_sched_gpu_has_kind(shape) && gw_sched_shape_gpus(shape) == 1;
    if (shape->on_instances && gw_sched_elastic_could(sched, shape))
        return;
    shape->on_instances = false;
    shape->any_gpus = 0;
}

void gw_sched_shapes_update(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i])
            gw_sched_shape_update(sched, sched->shapes.items[i]);
}

/* -- The heap ------------------------------------------------------------------------------------
 */

static bool queue_less(const struct gw_queue *a, const struct gw_queue *b)
{
    int64_t level = gw_sched_ageing_level(a), other = gw_sched_ageing_level(b);
    if (level != other)
        return level > other;
    if (a->job->age != b->job->age)
        return a->job->age < b->job->age;
    if (a->job->depth != b->job->depth)
        return a->job->depth > b->job->depth;
    return a->job->id < b->job->id;
}

static void heap_set(struct gw_shape *shape, uint32_t at, struct gw_queue *queue)
{
    shape->heap.items[at] = queue;
    queue->heap_at = at;
}

static void heap_up(struct gw_shape *shape, uint32_t at)
{
    struct gw_queue *queue = shape->heap.items[at];
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (!queue_less(queue, shape->heap.items[parent]))
            break;
        heap_set(shape, at, shape->heap.items[parent]);
        at = parent;
    }
    heap_set(shape, at, queue);
}

static void heap_down(struct gw_shape *shape, uint32_t at)
{
    struct gw_queue *queue = shape->heap.items[at];
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= shape->heap.count)
            break;
        if (child + 1 < shape->heap.count &&
            queue_less(shape->heap.items[child + 1], shape->heap.items[child]))
            child++;
        if (!queue_less(shape->heap.items[child], queue))
            break;
        heap_set(shape, at, shape->heap.items[child]);
        at = child;
    }
    heap_set(shape, at, queue);
}

static void heap_push(struct gw_queue *queue)
{
    GW_MUST(gw_array_push(&queue->shape->heap, queue));
    queue->shape->nested += queue->job->depth > 0;
    heap_up(queue->shape, (uint32_t)queue->shape->heap.count - 1);
}

static void heap_remove(struct gw_shape *shape, uint32_t at)
{
    shape->heap.items[at]->heap_at = GW_NONE;
    shape->nested -= shape->heap.items[at]->job->depth > 0;
    struct gw_queue *last = shape->heap.items[--shape->heap.count];
    if (at == shape->heap.count)
        return;
    heap_set(shape, at, last);
    heap_up(shape, at);
    heap_down(shape, last->heap_at);
}

/* -- Queues --------------------------------------------------------------------------------------
 */

struct gw_queue *gw_sched_queue_for(struct gw_sched *sched, struct gw_job *job,
                                    struct gw_shape *shape, int32_t priority)
{
    (void)sched;
    for (size_t i = 0; i < job->queues.count; i++) {
        struct gw_queue *queue = job->queues.items[i];
        if (queue->shape == shape && queue->priority == priority)
            return queue;
    }
    struct gw_queue *queue = calloc(1, sizeof *queue);
    GW_MUST_PTR(queue);
    queue->shape = shape;
    queue->job = job;
    queue->priority = GW_PLANTED(614) ? 0 : priority;
    queue->heap_at = GW_NONE;
    shape->queues++;
    GW_MUST(gw_array_push(&job->queues, queue));
    return queue;
}

/* Whether tasks come before it: then it lets go of memory when it has run. */
static bool is_fed(const struct gw_queue *queue, uint32_t row)
{
    return queue->job->tasks.deps_at[row] != gw_sched_deps_end(&queue->job->tasks, row);
}

void gw_sched_queue_add(struct gw_sched *sched, struct gw_queue *queue, uint32_t row)
{
    gw_bits_reserve(&queue->ready, row + 1);
    gw_bits_set(&queue->ready, row);
    queue->shape->ready++;
    if (is_fed(queue, row)) {
        gw_bits_reserve(&queue->fed, row + 1);
        gw_bits_set(&queue->fed, row);
    }
    if (queue->heap_at == GW_NONE && !queue->parked && !gw_sched_job_rests(queue->job) &&
        queue->shape->slots > 0) /* calls: actor.h */
        heap_push(queue);
    if (queue->job->depth > 0) /* it may pass what blocks the others: see gw_sched_queue_nested */
        queue->shape->blocked = false;
    if (!gw_sched_job_rests(queue->job))
        gw_sched_ageing_begin(sched, queue);
}

static void take_from_parked(struct gw_queue *queue)
{
    for (size_t i = 0; queue->parked && i < queue->shape->parked.count; i++)
        if (queue->shape->parked.items[i] == queue) {
            gw_array_remove_swap(&queue->shape->parked, i);
            break;
        }
    queue->parked = false;
}

void gw_sched_queue_hold(struct gw_sched *sched, struct gw_queue *queue)
{
    gw_sched_ageing_end(sched, queue);
    take_from_parked(queue);
    if (queue->heap_at != GW_NONE)
        heap_remove(queue->shape, queue->heap_at);
}

void gw_sched_queue_let(struct gw_sched *sched, struct gw_queue *queue)
{
    if (queue->heap_at == GW_NONE && queue->ready.count && queue->shape->slots > 0)
        heap_push(queue);
    if (queue->ready.count)
        gw_sched_ageing_begin(sched, queue);
}

void gw_sched_queue_resift(struct gw_queue *queue)
{
    if (queue->heap_at == GW_NONE)
        return;
    heap_remove(queue->shape, queue->heap_at);
    heap_push(queue);
}

void gw_sched_queue_remove(struct gw_sched *sched, struct gw_queue *queue, uint32_t row)
{
    assert(gw_bits_test(&queue->ready, row));
    gw_bits_clear(&queue->ready, row);
    queue->shape->ready--;
    if (queue->fed.count && gw_bits_test(&queue->fed, row))
        gw_bits_clear(&queue->fed, row);
    if (queue->ready.count == 0)
        gw_sched_ageing_end(sched, queue);
}

bool gw_sched_queue_park(struct gw_queue *queue)
{
    struct gw_shape *shape = queue->shape;
    if (shape->parked.count == GW_PARKED_MAX)
        return false;
    heap_remove(shape, queue->heap_at);
    queue->parked = true;
    GW_MUST(gw_array_push(&shape->parked, queue));
    return true;
}

void gw_sched_queue_unpark(struct gw_shape *shape)
{
    for (size_t i = 0; i < shape->parked.count; i++) {
        shape->parked.items[i]->parked = false;
        heap_push(shape->parked.items[i]);
    }
    gw_array_clear(&shape->parked);
}

void gw_sched_queue_free(struct gw_sched *sched, struct gw_queue *queue)
{
    gw_sched_queue_hold(sched, queue);
    queue->shape->queues--;
    queue->shape->ready -= queue->ready.count;
    gw_bits_deinit(&queue->ready);
    gw_bits_deinit(&queue->fed);
    free(queue);
}

struct gw_queue *gw_sched_queue_top(struct gw_shape *shape)
{
    while (shape->heap.count) {
        struct gw_queue *queue = shape->heap.items[0];
        if (queue->ready.count)
            return queue;
        heap_remove(shape, 0);
    }
    return NULL;
}

struct gw_queue *gw_sched_queue_nested(struct gw_shape *shape)
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
    if (a->job != b->job || gw_sched_ageing_level(a) != gw_sched_ageing_level(b))
        return queue_less(a, b);
    return gw_bits_first(&a->ready) < gw_bits_first(&b->ready);
}
