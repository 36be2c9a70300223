/* GPUs that stay drained.
 *
 * Invariant: exactly the GPUs of this list are marked (`kept`) at every worker that offers them.
 * The list is not limited, because dropping an entry would give a bad GPU to a task. */
#include "scheduler/core/model/workers/gpu_drain.h"

#include "scheduler/core/model/workers/gpu.h"

#include <stdlib.h>
#include <string.h>

char *gw_sched_gpu_drain_copy(const char *text)
{
    char *to = strdup(text);
    GW_MUST_PTR(to);
    return to;
}

struct gw_gpu_drain *gw_sched_gpu_drain_find(const struct gw_sched *sched, const char *uuid)
{
    for (size_t i = 0; sched->gpu_drains && i < sched->gpu_drains->items.count; i++)
        if (strcmp(sched->gpu_drains->items.items[i].uuid, uuid) == 0)
            return &sched->gpu_drains->items.items[i];
    return NULL;
}

void gw_sched_gpu_drain_drop(struct gw_sched *sched, size_t at)
{
    struct gw_gpu_drain *drain = &sched->gpu_drains->items.items[at];
    free(drain->uuid);
    free(drain->physical_gpu);
    free(drain->why);
    memmove(drain, drain + 1, (--sched->gpu_drains->items.count - at) * sizeof *drain);
}

/* why NULL: the GPU is not drained any more. */
static void mark(struct gw_sched *sched, struct gw_worker *worker, struct gw_gpu *gpu,
                 const char *why)
{
    bool was = gw_sched_gpu_free(gpu);
    free(gpu->remembered);
    gpu->remembered = why ? gw_sched_gpu_drain_copy(why) : NULL;
    if (why) {
        free(gpu->back);
        gpu->back = NULL;
    }
    gw_sched_gpu_counts(sched, worker, gpu, was);
}

void gw_sched_gpu_drain_mark(struct gw_sched *sched, struct gw_worker *worker)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu_drain *drain = gw_sched_gpu_drain_find(sched, worker->gpus[i].uuid);
        if (drain || worker->gpus[i].remembered)
            mark(sched, worker, &worker->gpus[i], drain ? drain->why : NULL);
    }
}

void gw_sched_gpu_drain_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    for (size_t i = 0; sched->gpu_drains && i < sched->gpu_drains->items.count; i++) {
        const struct gw_gpu_drain *drain = &sched->gpu_drains->items.items[i];
        GW_MUST(gw_buffer_append(out, drain->uuid, strlen(drain->uuid) + 1));
        GW_MUST(gw_buffer_append(out, drain->physical_gpu, strlen(drain->physical_gpu) + 1));
        GW_MUST(gw_buffer_append(out, drain->why, strlen(drain->why) + 1));
    }
}

void gw_sched_gpu_drain_deinit(struct gw_sched *sched)
{
    while (sched->gpu_drains && sched->gpu_drains->items.count)
        gw_sched_gpu_drain_drop(sched, sched->gpu_drains->items.count - 1);
    if (sched->gpu_drains)
        gw_array_deinit(&sched->gpu_drains->items);
    free(sched->gpu_drains);
    sched->gpu_drains = NULL;
}
