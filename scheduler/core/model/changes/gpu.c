/* Changes of state of GPUs: draining, undraining, and GPUs that several workers offer. */

#include "graph/base/text.h"
#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/gpu_drain.h"
#include "scheduler/core/model/workers/gpu_twin.h"
#include "scheduler/core/model/workers/lost_worker.h"

#include <stdlib.h>
#include <string.h>

static void mark_all(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i])
            gw_sched_gpu_drain_mark(sched, sched->workers.items[i]);
    sched->workers_epoch++; /* the answer to which tasks could ever run has changed */
    gw_sched_queue_classes_update(sched);
    sched->freed = true;
}

void gw_sched_gpu_record_drain(struct gw_sched *sched, const struct gw_gpu *gpu, const char *why)
{
    const struct gw_gpu_drain *drain = gw_sched_gpu_drain_find(sched, gpu->uuid);
    if (!drain || strcmp(drain->why, why) != 0)
        GW_FACT(sched, gpu_broke, .uuid = gpu->uuid, .physical_gpu = gpu->physical_gpu, .why = why);
}

void gw_sched_apply_gpu_broke(struct gw_sched *sched, const struct gw_fact_gpu_broke *fact)
{
    if (!sched->gpu_drains)
        GW_MUST_PTR(sched->gpu_drains = calloc(1, sizeof *sched->gpu_drains));
    const struct gw_gpu_drain *before = gw_sched_gpu_drain_find(sched, fact->uuid);
    if (before)
        gw_sched_gpu_drain_drop(sched, (size_t)(before - sched->gpu_drains->items.items));
    const struct gw_gpu_drain drain = {gw_sched_gpu_drain_copy(fact->uuid),
                                       gw_sched_gpu_drain_copy(fact->physical_gpu),
                                       gw_sched_gpu_drain_copy(fact->why)};
    GW_MUST(gw_array_push(&sched->gpu_drains->items, drain));
    mark_all(sched);
}

uint32_t gw_sched_gpus_trust(struct gw_sched *sched, const char *uuid)
{
    uint32_t count = 0;
    for (size_t i = 0; sched->gpu_drains && i < sched->gpu_drains->items.count; i++) {
        const struct gw_gpu_drain *drain = &sched->gpu_drains->items.items[i];
        count += strcmp(drain->uuid, uuid) == 0 || strcmp(drain->physical_gpu, uuid) == 0;
    }
    if (count)
        GW_FACT(sched, gpu_trusted, .uuid = uuid);
    return count;
}

void gw_sched_apply_gpu_trusted(struct gw_sched *sched, const struct gw_fact_gpu_trusted *fact)
{
    for (size_t i = sched->gpu_drains ? sched->gpu_drains->items.count : 0; i-- > 0;) {
        const struct gw_gpu_drain *drain = &sched->gpu_drains->items.items[i];
        if (strcmp(drain->uuid, fact->uuid) == 0 || strcmp(drain->physical_gpu, fact->uuid) == 0)
            gw_sched_gpu_drain_drop(sched, i);
    }
    mark_all(sched);
}

int gw_sched_gpu_on_drained(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_gpu_drained *message)
{
    if (worker->state == GW_WORKER_CONNECTED || message->gpu >= worker->gpu_count)
        return GW_EPROTO;
    struct gw_gpu *gpu = &worker->gpus[message->gpu];
    bool was = gw_sched_gpu_free(gpu);
    free(gpu->drained);
    gpu->drained = NULL;
    if (*message->why) {
        free(gpu->back);
        gpu->back = NULL;
        gpu->drained = strdup(message->why);
        GW_MUST_PTR(gpu->drained);
    }
    gw_sched_gpu_counts(sched, worker, gpu, was);
    sched->workers_epoch++; /* the answer to which tasks could ever run has changed */
    gw_sched_queue_classes_update(sched);
    sched->freed = true;
    if (*message->why && message->lasts)
        gw_sched_gpu_record_drain(sched, gpu, message->why);
    return 0;
}

/* Finds the worker that owns a GPU among the other workers that offer it. */
static struct gw_worker *owner_of(const struct gw_sched *sched, const struct gw_worker *worker,
                                  const struct gw_gpu *gpu, struct gw_gpu **owned)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        *owned = gw_sched_gpu_twin_same(sched->workers.items[i], worker, gpu);
        if (*owned && (*owned)->twin == GW_NO_INDEX)
            return sched->workers.items[i];
    }
    return NULL;
}

/* Returns true if the registering worker reports an attempt on this GPU. */
static bool has_on_it(const struct gw_msg_registration *registration, uint32_t number)
{
    for (uint32_t i = 0; i < registration->attempt_gpus.count; i++)
        if (gw_col32_at(registration->attempt_gpus, i) == number)
            return true;
    return false;
}

static void forget(struct gw_sched *sched, struct gw_gpu_left *left)
{
    size_t at = (size_t)(left - sched->gpus_left->items.items);
    gw_sched_gpu_twin_free_left(left);
    gw_array_remove_swap(&sched->gpus_left->items, at);
}

/* Returns true if `worker` is the lost worker that owned the GPU, or its next incarnation. Another
 * worker that reconnects after the same network break is neither, even if it has the same name. */
static bool is_back(const struct gw_sched *sched, const struct gw_gpu_left *left,
                    const struct gw_worker *worker)
{
    if (left->incarnation == worker->incarnation)
        return true;
    return strcmp(left->name, worker->remote->name) == 0 && strcmp(left->host, worker->host) == 0 &&
           !gw_sched_lost_worker_has(sched, worker->incarnation);
}

void gw_sched_gpu_twins_settle(struct gw_sched *sched)
{
    if (gw_sched_gpu_twins_deadline_ns(sched) > sched->now_ns)
        return;
    for (size_t i = sched->gpus_left->items.count; i-- > 0;) {
        struct gw_gpu_left left = sched->gpus_left->items.items[i];
        if (sched->now_ns < left.until_ns)
            continue;
        gw_array_remove_swap(&sched->gpus_left->items, i);
        gw_sched_gpu_twin_let(sched, left.incarnation, left.machine, left.uuid);
        gw_sched_gpu_twin_free_left(&left);
    }
    gw_sched_queue_classes_update(sched);
}

/* Decides who owns a GPU of a worker. Returns true if anything changed. */
static bool find_twin(struct gw_sched *sched, struct gw_worker *worker, uint32_t number, bool mine)
{
    struct gw_gpu *gpu = &worker->gpus[number], *owned;
    struct gw_gpu_left *left = gw_sched_gpu_twin_left(sched, worker, gpu);
    if (left && is_back(sched, left, worker)) {
        forget(sched, left);
        gw_sched_gpu_twin_make_own(sched, worker, gpu);
        return true;
    }
    if (left) {
        gw_sched_gpu_twin_set(sched, worker, gpu, left->worker);
        return true;
    }
    struct gw_worker *owner = owner_of(sched, worker, gpu, &owned);
    if (!owner)
        return false;
    if (mine && owned->slot == GW_NO_INDEX && owned->shared == 0)
        gw_sched_gpu_twin_make_own(sched, worker, gpu);
    else
        gw_sched_gpu_twin_set(sched, worker, gpu, owner->id);
    return true;
}

void gw_sched_gpu_twins_find(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_msg_registration *registration)
{
    bool back = gw_sched_lost_worker_is(sched, worker), changed = false;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        changed |= find_twin(sched, worker, i, back || has_on_it(registration, i));
    if (changed)
        gw_sched_queue_classes_update(sched);
}

void gw_sched_gpu_give_back(struct gw_worker *worker, uint32_t number, const char *by)
{
    struct gw_gpu *gpu = &worker->gpus[number];
    char said[400];
    struct gw_text text = {said, sizeof said, 0};
    gw_text_say(&text, "undrained by %s; it was drained because: %.200s", by,
                gw_sched_gpu_why_drained(gpu) ? gw_sched_gpu_why_drained(gpu) : "");
    free(gpu->back);
    gpu->back = strdup(said);
    GW_MUST_PTR(gpu->back);
}
