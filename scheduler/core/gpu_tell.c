/* GPUs, for people: what is missing, what is waited for, how they do and who has them. */
#include "scheduler/core/gpu.h"

#include "graph/base/text.h"
#include "scheduler/core/attempt.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/gpu_twin.h"
#include "scheduler/core/need.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/worker_name.h"

#include <gangway/value.h>

#include <stdio.h>
#include <string.h>

void gw_sched_gpu_describe(const struct gw_shape *shape, char *to, size_t bytes)
{
    uint32_t gpus = gw_sched_shape_gpus(shape);
    size_t used = strlen(to);
    if (gpus == 0 || used >= bytes)
        return;
    if (shape->gpu_share)
        (void)snprintf(to + used, bytes - used, ", %g of a GPU",
                       shape->gpu_share / (double)GW_GPU_WHOLE);
    else
        (void)snprintf(to + used, bytes - used, ", %u GPU%s", gpus, gpus == 1 ? "" : "s");
    used = strlen(to);
    if (gw_sched_gpu_memory(shape))
        (void)snprintf(to + used, bytes - used, " with %.1f GiB%s",
                       (double)gw_sched_gpu_memory(shape) / (1 << 30), gpus > 1 ? " each" : "");
}

void gw_sched_gpu_explain(const struct gw_sched *sched, const struct gw_shape *shape, char *to,
                          size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    uint32_t instances = sched->instances_free;
    *to = '\0';
    if (gw_sched_shape_gpus(shape) == 0)
        return;
    uint32_t drained = gw_sched_gpus_drained(sched);
    gw_text_say(&text, ", %u of %u GPUs", sched->gpus_free, sched->gpus - drained);
    if (drained)
        gw_text_say(&text, " (%u more %s drained)", drained, drained == 1 ? "is" : "are");
    if (shape->on_instances)
        gw_text_say(&text,
                    " (%u of them MIG instances, which its ranks get as whole GPUs could "
                    "not suffice)",
                    instances);
    else if (instances && (gw_sched_gpu_has_kind(shape) || gw_sched_shape_gpus(shape) > 1))
        gw_text_say(&text, " (%u of them %s, and it waits for whole ones)", instances,
                    instances == 1 ? "is a MIG instance" : "are MIG instances");
}

/* The first GPU of an attempt that its worker does not give to it yet; NULL: none. */
static const struct gw_gpu *clearing(const struct gw_sched *sched, uint32_t slot)
{
    for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NONE; i++)
        if (sched->attempts.items[slot].worker->gpus[i].clearing)
            return &sched->attempts.items[slot].worker->gpus[i];
    return NULL;
}

void gw_sched_gpu_explain_clearing(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text)
{
    const struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
    const struct gw_gpu *gpu = NULL;
    uint32_t slot = gang ? GW_NONE : gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    if (slot != GW_NONE)
        gpu = clearing(sched, slot);
    for (uint32_t i = 0; gang && gang->state != GW_GANG_GOING && i < gang->count && !gpu; i++)
        if (gang->ranks[i].slot != GW_NONE)
            gpu = clearing(sched, gang->ranks[i].slot);
    if (gpu)
        gw_text_say(text,
                    "; it starts when what the last task used of GPU %s is back (%.1f GiB are in "
                    "use; after 10 s it is drained)",
                    gpu->uuid, (double)gpu->used_bytes / (1 << 30));
}

/* How CUDA, PyTorch, JAX, TensorFlow, NCCL and the other libraries say it. */
bool gw_sched_gpu_ran_out(const struct gw_attempt *attempt, const struct gw_end *end)
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

/* What the workers that count for a shape have, but for what is drained. */
struct offer {
    uint32_t most;             /* GPUs, of those that a rank could get, at one worker */
    uint32_t whole, instances; /* at all of them, with memory enough */
    uint32_t useless;          /* instances that a rank could not get */
    uint64_t memory_most;      /* of those that a rank could get */
    uint32_t drained, twins;   /* twins: another worker's, too, and counted there */
    const char *why;           /* one of the drained is */
};

static void add_offer(const struct gw_worker *worker, const struct gw_shape *shape,
                      struct offer *offer)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < worker->gpu_count; k++) {
        const struct gw_gpu *gpu = &worker->gpus[k];
        bool instance = gw_sched_gpu_is_instance(gpu);
        if (gpu->twin != GW_NONE) {
            offer->twins++;
            continue;
        }
        if (gw_sched_gpu_why_drained(gpu)) {
            offer->drained++;
            offer->why = gw_sched_gpu_why_drained(gpu);
            continue;
        }
        if (instance && gw_sched_shape_gpus(shape) > 1) {
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

static struct offer offer_for(const struct gw_sched *sched, const struct gw_shape *shape)
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

/* " (...)": why what there is does not count. */
static void offer_aside(const struct offer *offer, char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    *to = '\0';
    if (offer->useless)
        gw_text_say(&text,
                    " (%u MIG instance%s not count: CUDA shows a process one, so that a rank with "
                    "several GPUs needs whole ones)",
                    offer->useless, offer->useless == 1 ? " does" : "s do");
    if (offer->drained)
        gw_text_say(&text, " (%u more %s drained: %.200s)", offer->drained,
                    offer->drained == 1 ? "is" : "are", offer->why);
}

int gw_sched_gpu_missing(const struct gw_sched *sched, const struct gw_shape *shape,
                         struct gw_error *error)
{
    uint32_t gpus = gw_sched_shape_gpus(shape);
    uint64_t needed = gw_sched_gpu_memory(shape);
    if (gpus == 0)
        return 0;
    const struct offer offer = offer_for(sched, shape);
    uint64_t memory = offer.memory_most;
    char aside[440];
    offer_aside(&offer, aside, sizeof aside);
    if (offer.most == 0)
        return gw_error_set(error, GW_EINFEASIBLE, "it wants %u GPU%s%s; no worker has any%s", gpus,
                            gpus == 1 ? "" : "s", shape->ranks ? " a rank" : "", aside);
    if (offer.most < gpus)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "it wants %u GPUs%s; the largest worker has %u%s", gpus,
                            shape->ranks ? " a rank" : "", offer.most, aside);
    if (shape->gpu_share)
        memory = memory / GW_GPU_WHOLE * shape->gpu_share;
    if (memory < needed)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "no GPU has %.1f GiB of memory%s: the largest has %.1f GiB%s",
                            (double)needed / (1 << 30), shape->gpu_share ? " in such a share" : "",
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

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

/* Who has a GPU: [{"job", "task", "rank"}, ...], and the same in words: "7/0 rank 1, 8/2". */
static struct gw_value *owners(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint32_t number, char *text, size_t bytes)
{
    struct gw_value *list = gw_list();
    size_t used = 0;
    *text = '\0';
    for (uint32_t slot = worker->first; slot != GW_NONE; slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->gpus || gw_sched_gpu_next(sched, slot, number) != number)
            continue;
        struct gw_value *owner = gw_dict();
        set(owner, "job", gw_i64((int64_t)attempt->job->id));
        set(owner, "task", gw_i64(attempt->index));
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%llu/%u", used ? ", " : "",
                                     (unsigned long long)attempt->job->id, attempt->index);
        if (attempt->gang)
            set(owner, "rank", gw_i64(attempt->rank));
        if (attempt->gang && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, " rank %u", attempt->rank);
        GW_MUST(gw_list_push(list, owner));
    }
    return list;
}

uint32_t gw_sched_worker_gpus_drained(const struct gw_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        count += gw_sched_gpu_why_drained(&worker->gpus[i]) && worker->gpus[i].twin == GW_NONE;
    return count;
}

uint32_t gw_sched_gpus_drained(const struct gw_sched *sched)
{
    uint32_t count = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY)
            count += gw_sched_worker_gpus_drained(worker);
    }
    return count;
}

static const char *state_of(const struct gw_gpu *gpu)
{
    if (gpu->twin != GW_NONE)
        return "elsewhere";
    if (gw_sched_gpu_why_drained(gpu))
        return "drained";
    if (gpu->clearing)
        return "clearing";
    if (gw_sched_gpu_free(gpu))
        return "free";
    return gpu->slot == GW_NONE ? "shared" : "used";
}

void gw_sched_gpus_push(const struct gw_sched *sched, const struct gw_worker *worker,
                        struct gw_value *list)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        struct gw_value *dict = gw_dict();
        char who[256], power[24], name[GW_WORKER_NAME_MAX];
        const char *why = gw_sched_gpu_why_drained(gpu);
        (void)snprintf(power, sizeof power, "%u W", (gpu->power_mw + 500) / 1000);
        set(dict, "worker", gw_i64(worker->id));
        set(dict, "worker_name", gw_str(worker->remote->name));
        set(dict, "host", gw_str(worker->host));
        set(dict, "number", gw_i64(i));
        set(dict, "name", gw_str(gpu->name));
        set(dict, "uuid", gw_str(gpu->uuid));
        set(dict, "board", gw_str(gpu->board));
        set(dict, "cpus", gw_str(gpu->cpus));
        set(dict, "memory_bytes", gw_i64((int64_t)gpu->memory_bytes));
        set(dict, "used_bytes", gw_i64((int64_t)gpu->used_bytes));
        set(dict, "processes", gw_i64(gpu->processes));
        set(dict, "power", gw_str(gpu->power_mw ? power : "-"));
        set(dict, "power_w", gw_f64(gpu->power_mw / 1000.0));
        set(dict, "busy_percent", gw_i64(gpu->busy_percent));
        set(dict, "island", gw_i64(gpu->island));
        set(dict, "bridge", gw_i64(gpu->bridge));
        set(dict, "numa_node", gw_i64(gpu->numa_node));
        set(dict, "free", gw_bool(gw_sched_gpu_free(gpu)));
        set(dict, "shared", gw_f64(gpu->shared / (double)GW_GPU_WHOLE));
        set(dict, "state", gw_str(state_of(gpu)));
        set(dict, "drained", gw_str(why ? why : ""));
        set(dict, "given_back", gw_str(gpu->back ? gpu->back : ""));
        set(dict, "used_by", owners(sched, worker, i, who, sizeof who));
        uint64_t left_ns = gw_sched_gpu_left_ns(sched, worker, gpu);
        if (left_ns)
            (void)snprintf(who, sizeof who,
                           "%s was lost, and may run something there for %.0f s yet",
                           gw_sched_worker_where(sched, gpu->twin, name), (double)left_ns / 1e9);
        else if (gpu->twin != GW_NONE)
            (void)snprintf(who, sizeof who, "it is given to tasks by %s, which offered it first",
                           gw_sched_worker_where(sched, gpu->twin, name));
        else if (!*who && gpu->back)
            (void)snprintf(who, sizeof who, "%s", gpu->back);
        set(dict, "by", gw_str(why && gpu->twin == GW_NONE ? why : who));
        GW_MUST(gw_list_push(list, dict));
    }
}

/* -- Who uses how much ---------------------------------------------------------------------------
 */

struct use {
    uint64_t used_bytes, memory_bytes, power_mw, busy_percent;
    uint32_t count;
};

static void use_add(struct use *use, const struct gw_gpu *gpu)
{
    use->used_bytes += gpu->used_bytes;
    use->memory_bytes += gpu->memory_bytes;
    use->power_mw += gpu->power_mw;
    use->busy_percent += gpu->busy_percent;
    use->count++;
}

static void use_write(const struct use *use, struct gw_value *dict, const char *prefix)
{
    char key[32], text[24];
    (void)snprintf(key, sizeof key, "%smemory_bytes", prefix);
    set(dict, key, gw_i64((int64_t)use->memory_bytes));
    (void)snprintf(key, sizeof key, "%sused_bytes", prefix);
    set(dict, key, gw_i64((int64_t)use->used_bytes));
    (void)snprintf(key, sizeof key, "%sbusy_percent", prefix);
    set(dict, key, gw_i64((int64_t)(use->busy_percent / use->count)));
    (void)snprintf(key, sizeof key, "%spower_w", prefix);
    set(dict, key, gw_f64((double)use->power_mw / 1000));
    (void)snprintf(key, sizeof key, "%spower", prefix);
    (void)snprintf(text, sizeof text, "%llu W", (unsigned long long)(use->power_mw + 500) / 1000);
    set(dict, key, gw_str(use->power_mw ? text : "-"));
}

/* What a task or rank has. A GPU that it shares is all there: nobody knows whose what is. */
static struct gw_value *use_of(const struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_value *dict = gw_dict();
    char numbers[128] = "", name[GW_WORKER_NAME_MAX];
    struct gw_text text = {numbers, sizeof numbers, 0};
    struct use use = {0};
    for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NONE; i++) {
        gw_text_say(&text, "%s%u", use.count ? "," : "", i);
        use_add(&use, &attempt->worker->gpus[i]);
    }
    if (attempt->gpu_share)
        gw_text_say(&text, " (%g of it)", attempt->gpu_share / (double)GW_GPU_WHOLE);
    set(dict, "job", gw_i64((int64_t)attempt->job->id));
    set(dict, "task", gw_i64(attempt->index));
    if (attempt->gang)
        set(dict, "rank", gw_i64(attempt->rank));
    set(dict, "worker", gw_str(gw_sched_worker_name(sched, attempt->worker->id, name)));
    set(dict, "gpus", gw_str(numbers));
    use_write(&use, dict, "");
    return dict;
}

void gw_sched_gpus_use(const struct gw_sched *sched, struct gw_value *dict)
{
    struct use all = {0};
    struct gw_value *list = gw_list();
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY || !worker->gpu_count)
            continue;
        for (uint32_t k = 0; k < worker->gpu_count; k++)
            if (worker->gpus[k].twin == GW_NONE)
                use_add(&all, &worker->gpus[k]);
        for (uint32_t slot = worker->first;
             slot != GW_NONE && gw_value_count(list) < GW_GPU_USE_MAX;
             slot = sched->attempts.items[slot].next)
            if (sched->attempts.items[slot].gpus)
                GW_MUST(gw_list_push(list, use_of(sched, slot)));
    }
    if (all.count)
        use_write(&all, dict, "gpus_");
    set(dict, "gpu_use", list);
}
