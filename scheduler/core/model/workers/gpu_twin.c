/* GPUs that several workers offer ("twins").
 *
 * Invariant: among the workers of a machine that offer the same GPU, except lost workers, one owns
 * the GPU (its twin field is GW_NO_INDEX), and the twin field of the others has the id of the
 * owner. While the GPU waits for its lost worker, none owns it, and all have the id of the lost
 * worker. */
#include "scheduler/core/model/workers/gpu_twin.h"

#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/lost_worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint32_t gw_sched_gpu_twin_own(const struct gw_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        count += worker->gpus[i].twin == GW_NO_INDEX;
    return count;
}

static struct gw_gpu *offer_of(const struct gw_worker *worker, const char *machine,
                               const char *uuid)
{
    if (!worker || worker->state == GW_WORKER_LOST || !worker->gpu_count ||
        strcmp(worker->machine, machine) != 0)
        return NULL;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        if (strcmp(worker->gpus[i].uuid, uuid) == 0)
            return &worker->gpus[i];
    return NULL;
}

/* Finds the same GPU as offered by another worker. Returns NULL if the other worker does not offer
 * it. */
struct gw_gpu *gw_sched_gpu_twin_same(const struct gw_worker *other, const struct gw_worker *worker,
                                      const struct gw_gpu *gpu)
{
    return other == worker ? NULL : offer_of(other, worker->machine, gpu->uuid);
}

struct gw_gpu_left *gw_sched_gpu_twin_left(const struct gw_sched *sched,
                                           const struct gw_worker *worker, const struct gw_gpu *gpu)
{
    for (size_t i = 0; sched->gpus_left && i < sched->gpus_left->items.count; i++) {
        struct gw_gpu_left *left = &sched->gpus_left->items.items[i];
        if (strcmp(left->machine, worker->machine) == 0 && strcmp(left->uuid, gpu->uuid) == 0)
            return left;
    }
    return NULL;
}

void gw_sched_gpu_twin_set(struct gw_sched *sched, struct gw_worker *worker, struct gw_gpu *gpu,
                           uint32_t twin)
{
    bool was = gw_sched_gpu_free(gpu), mine = gpu->twin == GW_NO_INDEX;
    gpu->twin = twin;
    gw_sched_gpu_counts(sched, worker, gpu, was);
    if (worker->state != GW_WORKER_READY)
        return;
    sched->gpus -= mine;
    sched->gpus += twin == GW_NO_INDEX;
    sched->workers_epoch++; /* the answer to which tasks could ever run has changed */
    sched->freed = true;
}

/* Makes a worker the owner of a GPU. The other workers that offer the GPU get it as their twin. */
void gw_sched_gpu_twin_make_own(struct gw_sched *sched, struct gw_worker *worker,
                                struct gw_gpu *gpu)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_gpu *same = gw_sched_gpu_twin_same(sched->workers.items[i], worker, gpu);
        if (same)
            gw_sched_gpu_twin_set(sched, sched->workers.items[i], same, worker->id);
    }
    gw_sched_gpu_twin_set(sched, worker, gpu, GW_NO_INDEX);
}

/* -- GPUs of lost workers --------------------------------------------------------------------- */

static char *copy(const char *text)
{
    char *to = strdup(text);
    GW_MUST_PTR(to);
    return to;
}

static void leave(struct gw_sched *sched, const struct gw_worker *lost, const struct gw_gpu *gpu,
                  uint64_t until_ns)
{
    if (!sched->gpus_left)
        GW_MUST_PTR(sched->gpus_left = calloc(1, sizeof *sched->gpus_left));
    const struct gw_gpu_left left = {.machine = copy(lost->machine),
                                     .uuid = copy(gpu->uuid),
                                     .name = copy(lost->remote->name),
                                     .host = copy(lost->host),
                                     .incarnation = lost->incarnation,
                                     .until_ns = until_ns,
                                     .worker = lost->id};
    GW_MUST(gw_array_push(&sched->gpus_left->items, left));
}

void gw_sched_gpu_twin_free_left(struct gw_gpu_left *left)
{
    free(left->machine);
    free(left->uuid);
    free(left->name);
    free(left->host);
}

void gw_sched_gpu_twin_let(struct gw_sched *sched, uint64_t lost, const char *machine,
                           const char *uuid)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_gpu *gpu = offer_of(sched->workers.items[i], machine, uuid);
        if (gpu) {
            gw_sched_gpu_twin_make_own(sched, sched->workers.items[i], gpu);
            gw_sched_lost_worker_on_given(sched, lost, gw_sched_gpu_is_instance(gpu));
            return;
        }
    }
}

uint64_t gw_sched_gpu_twins_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (size_t i = 0; sched->gpus_left && i < sched->gpus_left->items.count; i++)
        if (sched->gpus_left->items.items[i].until_ns < deadline_ns)
            deadline_ns = sched->gpus_left->items.items[i].until_ns;
    return deadline_ns;
}

uint64_t gw_sched_gpu_twin_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_gpu *gpu)
{
    const struct gw_gpu_left *left = gw_sched_gpu_twin_left(sched, worker, gpu);
    return left && left->until_ns > sched->now_ns ? left->until_ns - sched->now_ns : 0;
}

void gw_sched_gpu_twins_deinit(struct gw_sched *sched)
{
    if (!sched->gpus_left)
        return;
    for (size_t i = 0; i < sched->gpus_left->items.count; i++)
        gw_sched_gpu_twin_free_left(&sched->gpus_left->items.items[i]);
    gw_array_deinit(&sched->gpus_left->items);
    free(sched->gpus_left);
    sched->gpus_left = NULL;
}

/* -- Registration and loss -------------------------------------------------------------------- */

/* Finds the same worker on another connection. Returns NULL if there is none. */
static struct gw_worker *other_side(const struct gw_sched *sched, const struct gw_worker *lost)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker != lost && worker->state != GW_WORKER_LOST && worker->machine &&
            worker->incarnation == lost->incarnation)
            return worker;
    }
    return NULL;
}

void gw_sched_gpu_twins_free(struct gw_sched *sched, const struct gw_worker *lost)
{
    uint64_t until_ns = lost->heard_ns + sched->options.worker_lost_ns;
    struct gw_worker *same = lost->gpu_count ? other_side(sched, lost) : NULL;
    for (uint32_t i = 0; i < lost->gpu_count; i++) {
        const struct gw_gpu *gpu = &lost->gpus[i];
        struct gw_gpu *offer = same ? offer_of(same, lost->machine, gpu->uuid) : NULL;
        if (gpu->twin != GW_NO_INDEX)
            continue;
        if (offer)
            gw_sched_gpu_twin_make_own(sched, same, offer);
        else if (sched->now_ns < until_ns)
            leave(sched, lost, gpu, until_ns);
        else
            gw_sched_gpu_twin_let(sched, lost->incarnation, lost->machine, gpu->uuid);
    }
}

void gw_sched_gpu_twins_check(const struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t i = 0; worker->state != GW_WORKER_LOST && i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        const struct gw_gpu_left *left = gw_sched_gpu_twin_left(sched, worker, gpu);
        uint32_t owners = gpu->twin == GW_NO_INDEX;
        assert(!left || gpu->twin == left->worker);
        for (size_t k = 0; k < sched->workers.count; k++) {
            const struct gw_gpu *same =
                gw_sched_gpu_twin_same(sched->workers.items[k], worker, gpu);
            if (!same || same->twin != GW_NO_INDEX)
                continue;
            owners++;
            assert(gpu->twin == sched->workers.items[k]->id);
        }
        assert(owners == (left ? 0 : 1));
    }
}
