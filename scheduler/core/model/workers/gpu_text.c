/* Texts about GPUs for error messages. */
#include "scheduler/core/model/workers/gpu_text.h"

#include "graph/base/text.h"
#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/queue.h"

#include <stdio.h>
#include <string.h>

/* The GPUs of all workers that a task may use, without drained ones. */
struct offer {
    uint32_t most;             /* largest number of usable GPUs at one worker */
    uint32_t whole, instances; /* total of all workers, with enough memory */
    uint32_t useless;          /* instances that a rank could not get */
    uint64_t memory_most;      /* largest memory of a usable GPU */
    uint32_t drained, twins;   /* `twins`: number of GPUs that this worker offers, but that another
                                  worker owns, where they are counted */
    const char *why;           /* reason of one drained GPU */
};

void gw_sched_gpu_text_of(const struct gw_resource_class *shape, char *to, size_t bytes)
{
    uint32_t gpus = gw_sched_queue_class_gpus(shape);
    size_t used = strlen(to);
    if (gpus == 0 || used >= bytes)
        return;
    if (shape->gpu_fraction)
        (void)snprintf(to + used, bytes - used, ", %g of a GPU",
                       shape->gpu_fraction / (double)GW_GPU_WHOLE);
    else
        (void)snprintf(to + used, bytes - used, ", %u GPU%s", gpus, gpus == 1 ? "" : "s");
    used = strlen(to);
    if (gw_sched_gpu_memory(shape))
        (void)snprintf(to + used, bytes - used, " with %.1f GiB%s",
                       (double)gw_sched_gpu_memory(shape) / (1 << 30), gpus > 1 ? " each" : "");
}

/* Error texts of CUDA, PyTorch, JAX, TensorFlow, NCCL and other libraries. */
bool gw_sched_gpu_text_ran_out(const struct gw_attempt *attempt, const struct gw_end *end)
{
    static const char *const words[] = {
        "CUDA out of memory",
        "cudaErrorMemoryAllocation",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA error: out of memory",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_ALLOC_FAILED",
        "RESOURCE_EXHAUSTED: Out of memory",
        "OOM when allocating tensor",
        "Cuda failure 2 'out of memory'",
        "Cuda failure 'out of memory'",
    };
    bool failed = end->outcome == GW_OUTCOME_FAILED || end->outcome == GW_OUTCOME_CRASHED;
    for (size_t i = 0; attempt->gpus && failed && i < sizeof words / sizeof *words; i++)
        if (strstr(end->text, words[i]) || strstr(end->stderr_tail, words[i]))
            return true;
    return false;
}

static void add_offer(const struct gw_worker *worker, const struct gw_resource_class *shape,
                      struct offer *offer)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < worker->gpu_count; k++) {
        const struct gw_gpu *gpu = &worker->gpus[k];
        bool instance = gw_sched_gpu_is_instance(gpu);
        if (gpu->twin != GW_NO_INDEX) {
            offer->twins++;
            continue;
        }
        if (gw_sched_gpu_why_drained(gpu)) {
            offer->drained++;
            offer->why = gw_sched_gpu_why_drained(gpu);
            continue;
        }
        if (instance && gw_sched_queue_class_gpus(shape) > 1) {
            offer->useless++;
            continue;
        }
        count++;
        if (gpu->memory_bytes > offer->memory_most)
            offer->memory_most = gpu->memory_bytes;
        if (gpu->memory_bytes >= gw_sched_gpu_memory(shape))
            *(instance ? &offer->instances : &offer->whole) += 1;
    }
    offer->most = count > offer->most ? count : offer->most;
}

static struct offer offer_for(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    struct offer offer = {.why = ""};
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY &&
            (!shape->need || gw_sched_need_allows(shape->need, worker)))
            add_offer(worker, shape, &offer);
    }
    return offer;
}

/* Writes " (...)": why some existing GPUs cannot be used. */
static void offer_aside(const struct offer *offer, char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    *to = '\0';
    if (offer->useless)
        gw_text_say(&text,
                    " (%u MIG instance%s not count: CUDA shows a process only one, so a rank with "
                    "several GPUs needs whole GPUs)",
                    offer->useless, offer->useless == 1 ? " does" : "s do");
    if (offer->drained)
        gw_text_say(&text, " (%u more %s drained: %.200s)", offer->drained,
                    offer->drained == 1 ? "is" : "are", offer->why);
}

int gw_sched_gpu_text_missing(const struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_error *error)
{
    uint32_t gpus = gw_sched_queue_class_gpus(shape);
    uint64_t needed = gw_sched_gpu_memory(shape);
    if (gpus == 0)
        return 0;
    const struct offer offer = offer_for(sched, shape);
    uint64_t memory = offer.memory_most;
    char aside[440];
    offer_aside(&offer, aside, sizeof aside);
    if (offer.most == 0)
        return gw_error_set(error, GW_EINFEASIBLE, "it needs %u GPU%s%s; no worker has any%s", gpus,
                            gpus == 1 ? "" : "s", shape->ranks ? " a rank" : "", aside);
    if (offer.most < gpus)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "it needs %u GPUs%s; the largest worker has %u%s", gpus,
                            shape->ranks ? " a rank" : "", offer.most, aside);
    if (shape->gpu_fraction)
        memory = memory / GW_GPU_WHOLE * shape->gpu_fraction;
    if (memory < needed)
        return gw_error_set(
            error, GW_EINFEASIBLE, "no GPU has %.1f GiB of memory%s: the largest has %.1f GiB%s",
            (double)needed / (1 << 30), shape->gpu_fraction ? " in such a share" : "",
            (double)memory / (1 << 30), aside);
    if (gw_sched_gpu_has_kind(shape) && gpus == 1 && offer.whole < shape->ranks &&
        offer.instances && offer.whole && offer.instances < shape->ranks)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "the ranks of a gang get whole GPUs or MIG instances, never some of "
                            "both: for %u ranks there are %u GPU%s and %u instance%s%s",
                            shape->ranks, offer.whole, offer.whole == 1 ? "" : "s", offer.instances,
                            offer.instances == 1 ? "" : "s", aside);
    return 0;
}

uint32_t gw_sched_gpu_text_worker_drained(const struct gw_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        count += gw_sched_gpu_why_drained(&worker->gpus[i]) && worker->gpus[i].twin == GW_NO_INDEX;
    return count;
}

uint32_t gw_sched_gpu_text_drained(const struct gw_sched *sched)
{
    uint32_t count = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY)
            count += gw_sched_gpu_text_worker_drained(worker);
    }
    return count;
}
