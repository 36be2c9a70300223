/* GPUs that stay drained.
 *
 * Always: what is listed here is marked (`kept`) at every worker that offers it, and nothing else
 * is. There are as many as ever broke: to forget one would be to give it to somebody. */
#include "scheduler/core/gpu_kept.h"

#include "scheduler/core/gpu.h"
#include "scheduler/core/queue.h"

#include <stdlib.h>
#include <string.h>

struct kept {
    char *uuid, *board, *why;
};

struct gw_gpus_kept {
    GW_ARRAY(struct kept) items;
};

static char *copy(const char *text)
{
    char *to = strdup(text);
    GW_MUST_PTR(to);
    return to;
}

static struct kept *find(const struct gw_sched *sched, const char *uuid)
{
    for (size_t i = 0; sched->gpus_kept && i < sched->gpus_kept->items.count; i++)
        if (strcmp(sched->gpus_kept->items.items[i].uuid, uuid) == 0)
            return &sched->gpus_kept->items.items[i];
    return NULL;
}

static void drop(struct gw_sched *sched, size_t at)
{
    struct kept *kept = &sched->gpus_kept->items.items[at];
    free(kept->uuid);
    free(kept->board);
    free(kept->why);
    memmove(kept, kept + 1, (--sched->gpus_kept->items.count - at) * sizeof *kept);
}

/* why NULL: it is not kept any more. */
static void mark(struct gw_sched *sched, struct gw_worker *worker, struct gw_gpu *gpu,
                 const char *why)
{
    bool was = gw_sched_gpu_free(gpu);
    free(gpu->kept);
    gpu->kept = why ? copy(why) : NULL;
    if (why) {
        free(gpu->back);
        gpu->back = NULL;
    }
    gw_sched_gpu_counts(sched, worker, gpu, was);
}

void gw_sched_gpus_kept_mark(struct gw_sched *sched, struct gw_worker *worker)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct kept *kept = find(sched, worker->gpus[i].uuid);
        if (kept || worker->gpus[i].kept)
            mark(sched, worker, &worker->gpus[i], kept ? kept->why : NULL);
    }
}

static void mark_all(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i])
            gw_sched_gpus_kept_mark(sched, sched->workers.items[i]);
    sched->workers_epoch++; /* who could ever hold what */
    gw_sched_shapes_update(sched);
    sched->freed = true;
}

void gw_sched_gpu_keep(struct gw_sched *sched, const struct gw_gpu *gpu, const char *why)
{
    const struct kept *kept = find(sched, gpu->uuid);
    if (!kept || strcmp(kept->why, why) != 0)
        GW_FACT(sched, gpu_broke, .uuid = gpu->uuid, .board = gpu->board, .why = why);
}

void gw_sched_apply_gpu_broke(struct gw_sched *sched, const struct gw_fact_gpu_broke *fact)
{
    if (!sched->gpus_kept)
        GW_MUST_PTR(sched->gpus_kept = calloc(1, sizeof *sched->gpus_kept));
    const struct kept *before = find(sched, fact->uuid);
    if (before)
        drop(sched, (size_t)(before - sched->gpus_kept->items.items));
    const struct kept kept = {copy(fact->uuid), copy(fact->board), copy(fact->why)};
    GW_MUST(gw_array_push(&sched->gpus_kept->items, kept));
    mark_all(sched);
}

uint32_t gw_sched_gpus_trust(struct gw_sched *sched, const char *uuid)
{
    uint32_t count = 0;
    for (size_t i = 0; sched->gpus_kept && i < sched->gpus_kept->items.count; i++) {
        const struct kept *kept = &sched->gpus_kept->items.items[i];
        count += strcmp(kept->uuid, uuid) == 0 || strcmp(kept->board, uuid) == 0;
    }
    if (count && !GW_PLANTED(705))
        GW_FACT(sched, gpu_trusted, .uuid = uuid);
    return count;
}

void gw_sched_apply_gpu_trusted(struct gw_sched *sched, const struct gw_fact_gpu_trusted *fact)
{
    for (size_t i = sched->gpus_kept ? sched->gpus_kept->items.count : 0; i-- > 0;) {
        const struct kept *kept = &sched->gpus_kept->items.items[i];
        if (strcmp(kept->uuid, fact->uuid) == 0 || strcmp(kept->board, fact->uuid) == 0)
            drop(sched, i);
    }
    mark_all(sched);
}

void gw_sched_gpus_kept_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    for (size_t i = 0; sched->gpus_kept && i < sched->gpus_kept->items.count; i++) {
        const struct kept *kept = &sched->gpus_kept->items.items[i];
        GW_MUST(gw_buffer_append(out, kept->uuid, strlen(kept->uuid) + 1));
        GW_MUST(gw_buffer_append(out, kept->board, strlen(kept->board) + 1));
        GW_MUST(gw_buffer_append(out, kept->why, strlen(kept->why) + 1));
    }
}

void gw_sched_gpus_kept_deinit(struct gw_sched *sched)
{
    while (sched->gpus_kept && sched->gpus_kept->items.count)
        drop(sched, sched->gpus_kept->items.count - 1);
    if (sched->gpus_kept)
        gw_array_deinit(&sched->gpus_kept->items);
    free(sched->gpus_kept);
    sched->gpus_kept = NULL;
}
