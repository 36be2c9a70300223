/* Adds tasks to and removes tasks from ready queues, and creates and frees resource classes. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/workers/ageing.h"
#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/queue.h"

#include <assert.h>
#include <stdlib.h>

static bool shape_equal(const struct gw_resource_class *a, const struct gw_resource_class *b)
{
    return a->ranks == b->ranks && a->slots == b->slots && a->calls == b->calls &&
           a->gpus == b->gpus && a->gpu_fraction == b->gpu_fraction &&
           a->gpu_if_any == b->gpu_if_any && a->alone == b->alone &&
           a->memory_bytes == b->memory_bytes && a->time_limit_class == b->time_limit_class &&
           a->per_node == b->per_node && a->spread == b->spread && a->files == b->files &&
           a->of_user == b->of_user && a->uid == b->uid && a->min_ranks == b->min_ranks &&
           a->full_size_timeout_ns == b->full_size_timeout_ns &&
           gw_sched_need_equal(a->need, b->need);
}

/* Frees unused resource classes if there are many. Some are kept for later jobs with the same
 * requirements. */
static void shapes_tidy(struct gw_sched *sched)
{
    if (sched->shapes_count < GW_SHAPES_IDLE_MAX)
        return;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        if (shape && shape->queues == 0 && shape->attempts == 0)
            gw_sched_queue_class_free(sched, shape);
    }
}

struct gw_resource_class *gw_sched_queue_class_for(struct gw_sched *sched,
                                                   const struct gw_resource_class *key)
{
    uint32_t free_id = GW_NO_INDEX;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        if (!shape)
            free_id = (uint32_t)i;
        else if (shape_equal(shape, key))
            return shape;
    }
    if (free_id == GW_NO_INDEX) {
        shapes_tidy(sched);
        free_id = (uint32_t)sched->shapes.count;
        GW_MUST(gw_array_push(&sched->shapes, NULL));
    }
    struct gw_resource_class *shape = calloc(1, sizeof *shape);
    GW_MUST_PTR(shape);
    *shape = (struct gw_resource_class){
        .id = free_id,
        .ranks = key->ranks,
        .slots = key->slots,
        .calls = key->calls,
        .gpus = key->gpus,
        .gpu_fraction = key->gpu_fraction,
        .gpu_if_any = key->gpu_if_any,
        .alone = key->alone,
        .memory_bytes = key->memory_bytes,
        .time_limit_class = key->time_limit_class,
        .per_node = key->per_node,
        .spread = key->spread,
        .files = key->files,
        .of_user = key->of_user,
        .uid = key->uid,
        .min_ranks = key->min_ranks,
        .full_size_timeout_ns = key->full_size_timeout_ns,
        .need = gw_sched_need_ref(key->need),
        .candidates_epoch = UINT64_MAX,
    };
    sched->shapes.items[free_id] = shape;
    sched->shapes_count++;
    gw_sched_queue_class_update(sched, shape);
    return shape;
}

void gw_sched_queue_class_free(struct gw_sched *sched, struct gw_resource_class *shape)
{
    assert(!shape->rooms);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && shape->id < worker->queue_count) {
            free(worker->queues[shape->id]);
            worker->queues[shape->id] = NULL;
        }
    }
    sched->shapes.items[shape->id] = NULL;
    sched->shapes_count--;
    gw_sched_queue_groups_deinit(shape);
    gw_array_deinit(&shape->parked);
    gw_array_deinit(&shape->candidates);
    gw_sched_need_unref(shape->need);
    free(shape);
}

/* Decides which GPUs an empty cluster could give: one GPU or none for a rank of gpu_if_any, and
 * whole GPUs or else MIG instances for a gang. */
void gw_sched_queue_class_update(const struct gw_sched *sched, struct gw_resource_class *shape)
{
    shape->any_gpus = 1;
    shape->on_instances = false;
    if ((!shape->gpu_if_any && !gw_sched_gpu_has_kind(shape)) ||
        gw_sched_ranks_hold_least(sched, shape))
        return;
    shape->on_instances = gw_sched_gpu_has_kind(shape) && gw_sched_queue_class_gpus(shape) == 1;
    if (shape->on_instances && gw_sched_ranks_hold_least(sched, shape))
        return;
    shape->on_instances = false;
    shape->any_gpus = 0;
}

void gw_sched_queue_classes_update(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i])
            gw_sched_queue_class_update(sched, sched->shapes.items[i]);
}

/* Returns true if the task has dependencies. Running such a task may free memory, because its
 * inputs may be released. */
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
    if (queue->heap_at == GW_NO_INDEX && !queue->parked && !gw_sched_job_rests(queue->job) &&
        !queue->shape->calls) /* calls of actors are placed by actor.h */
        gw_sched_queue_heap_push(queue);
    if (queue->job->depth > 0) /* jobs that tasks submitted may be placed although other jobs are
                                  blocked: see gw_sched_queue_nested */
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
    if (queue->heap_at != GW_NO_INDEX)
        gw_sched_queue_heap_remove(queue);
}

void gw_sched_queue_let(struct gw_sched *sched, struct gw_queue *queue)
{
    if (queue->heap_at == GW_NO_INDEX && queue->ready.count && !queue->shape->calls)
        gw_sched_queue_heap_push(queue);
    if (queue->ready.count)
        gw_sched_ageing_begin(sched, queue);
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

void gw_sched_queue_free(struct gw_sched *sched, struct gw_queue *queue)
{
    gw_sched_queue_hold(sched, queue);
    queue->shape->queues--;
    queue->shape->ready -= queue->ready.count;
    gw_bits_deinit(&queue->ready);
    gw_bits_deinit(&queue->fed);
    free(queue);
}
