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
    struct gw_gpu_drain *kept = &sched->gpu_drains->items.items[at];
    free(kept->uuid);
    free(kept->physical_gpu);
    free(kept->why);
    memmove(kept, kept + 1, (--sched->gpu_drains->items.count - at) * sizeof *kept);
}

/* why NULL: the GPU is not drained any more. */
static void mark(struct gw_sched *sched, struct gw_worker *worker, struct gw_gpu *gpu,
                 const char *why)
{
    bool was = gw_sched_gpu_free(gpu);
    free(gpu->kept);
    gpu->kept = why ? gw_sched_gpu_drain_copy(why) : NULL;
    if (why) {
        free(gpu->back);
        gpu->back = NULL;
    }
    gw_sched_gpu_counts(sched, worker, gpu, was);
}

void gw_sched_gpu_drain_mark(struct gw_sched *sched, struct gw_worker *worker)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu_drain *kept = gw_sched_gpu_drain_find(sched, worker->gpus[i].uuid);
        if (kept || worker->gpus[i].kept)
            mark(sched, worker, &worker->gpus[i], kept ? kept->why : NULL);
    }
}

void gw_sched_gpu_drain_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    for (size_t i = 0; sched->gpu_drains && i < sched->gpu_drains->items.count; i++) {
        const struct gw_gpu_drain *kept = &sched->gpu_drains->items.items[i];
        GW_MUST(gw_buffer_append(out, kept->uuid, strlen(kept->uuid) + 1));
        GW_MUST(gw_buffer_append(out, kept->physical_gpu, strlen(kept->physical_gpu) + 1));
        GW_MUST(gw_buffer_append(out, kept->why, strlen(kept->why) + 1));
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
