/* GPUs: what is free, which ones a rank gets, and what their worker says of them.
 *
 * Always: a whole GPU belongs to one attempt (`slot`), a shared one to attempts whose shares are no
 * more than all of it; nobody gets any of one that is drained, but whoever has it keeps it until it
 * ends. gpus_free counts those that gw_sched_gpu_free says are free, instances_free the MIG
 * instances among them. A rank with several GPUs has no instance, and a gang none beside whole
 * GPUs. */
#include "scheduler/core/gpu.h"

#include "scheduler/core/attempt.h"
#include "scheduler/core/need.h"
#include "scheduler/core/placement.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/worker.h"

#include <gangway/value.h>

#include "graph/base/text.h"
#include "graph/wire/codec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 256, LEVELS = 4 };

/* -- The list of a registration ------------------------------------------------------------------
 */

static int read_list(struct gw_bin bin, struct gw_value **list)
{
    *list = NULL;
    if (bin.size == 0)
        return 0;
    if (gw_codec_decode(bin.data, bin.size, NULL, list, NULL) < 0)
        return GW_EPROTO;
    bool well = gw_value_count(*list) <= GPUS_MAX;
    for (size_t i = 0; well && i < gw_value_count(*list); i++) {
        const struct gw_value *gpu = gw_value_at(*list, i);
        const char *text;
        int64_t bytes;
        well = gw_value_count(gpu) >= 3 &&
               gw_value_get_str(gw_value_at(gpu, 0), &text, NULL) == 0 &&
               gw_value_get_str(gw_value_at(gpu, 1), &text, NULL) == 0 &&
               gw_value_get_i64(gw_value_at(gpu, 2), &bytes, NULL) == 0;
    }
    if (well)
        return 0;
    gw_value_unref(*list);
    *list = NULL;
    return GW_EPROTO;
}

int gw_sched_gpus_read_check(struct gw_bin bin)
{
    struct gw_value *list;
    int rc = read_list(bin, &list);
    gw_value_unref(list);
    return rc;
}

static const char *text_at(struct gw_worker *worker, const struct gw_value *gpu, size_t i)
{
    const char *text = "";
    if (i < gw_value_count(gpu))
        (void)gw_value_get_str(gw_value_at(gpu, i), &text, NULL);
    text = gw_arena_strdup(&worker->arena, text);
    GW_MUST_PTR(text);
    return text;
}

static int64_t number_at(const struct gw_value *gpu, size_t i, int64_t otherwise)
{
    int64_t number = otherwise;
    if (i < gw_value_count(gpu))
        (void)gw_value_get_i64(gw_value_at(gpu, i), &number, NULL);
    return number;
}

void gw_sched_gpus_set(struct gw_worker *worker, struct gw_bin bin)
{
    struct gw_value *list;
    GW_MUST(read_list(bin, &list));
    worker->gpu_count = worker->gpus_free = list ? (uint32_t)gw_value_count(list) : 0;
    worker->gpus = calloc(worker->gpu_count + 1, sizeof *worker->gpus);
    GW_MUST_PTR(worker->gpus);
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_value *gpu = gw_value_at(list, i);
        worker->gpus[i] = (struct gw_gpu){
            .slot = GW_NONE,
            .uuid = text_at(worker, gpu, 0),
            .name = text_at(worker, gpu, 1),
            .memory_bytes = (uint64_t)number_at(gpu, 2, 0),
            .island = (uint32_t)number_at(gpu, 3, i),
            .bridge = (uint32_t)number_at(gpu, 4, i),
            .numa_node = (int32_t)number_at(gpu, 5, -1),
            .board = text_at(worker, gpu, 6),
            .cpus = text_at(worker, gpu, 7),
        };
    }
    gw_value_unref(list);
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        worker->instances_free += gw_sched_gpu_is_instance(&worker->gpus[i]);
}

void gw_sched_gpus_deinit(struct gw_worker *worker)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        free(worker->gpus[i].drained);
    free(worker->gpus);
}

/* -- What is free --------------------------------------------------------------------------------
 */

bool gw_sched_gpu_is_instance(const struct gw_gpu *gpu)
{
    return *gpu->board != '\0';
}

bool gw_sched_gpu_free(const struct gw_gpu *gpu)
{
    return gpu->slot == GW_NONE && gpu->shared == 0 && !gpu->drained;
}

static uint64_t memory_needed(const struct gw_shape *shape)
{
    return shape->need ? shape->need->gpu_memory_bytes : 0;
}

/* Whether it is of the kind that a rank gets. CUDA shows a process one instance, and no other GPU
 * beside it. */
static bool is_of_kind(const struct gw_gpu *gpu, const struct gw_shape *shape)
{
    bool instance = gw_sched_gpu_is_instance(gpu);
    if (gw_sched_gpu_has_kind(shape) && !GW_PLANTED(400))
        return instance == shape->on_instances;
    return !instance || gw_sched_shape_gpus(shape) <= 1;
}

/* Whether a rank could have it whole. */
static bool takes_whole(const struct gw_gpu *gpu, const struct gw_shape *shape, bool ever)
{
    return is_of_kind(gpu, shape) && gpu->memory_bytes >= memory_needed(shape) &&
           (ever ? !gpu->drained : gw_sched_gpu_free(gpu));
}

/* How many ranks could have a share of it. */
static uint32_t takes_shares(const struct gw_gpu *gpu, const struct gw_shape *shape, bool ever)
{
    uint64_t bytes = gpu->memory_bytes / GW_GPU_WHOLE * shape->gpu_share;
    if (bytes < memory_needed(shape) || gpu->drained || (!ever && gpu->slot != GW_NONE))
        return 0;
    return (GW_GPU_WHOLE - (ever ? 0 : gpu->shared)) / shape->gpu_share;
}

bool gw_sched_gpu_has_kind(const struct gw_shape *shape)
{
    return shape->ranks > 0 && gw_sched_shape_gpus(shape) > 0 && !shape->gpu_share;
}

bool gw_sched_gpu_likes_instances(const struct gw_shape *shape)
{
    return shape->ranks == 0 && gw_sched_shape_gpus(shape) == 1 && !shape->gpu_share;
}

bool gw_sched_gpu_has_instance(const struct gw_worker *worker, const struct gw_shape *shape)
{
    for (uint32_t i = 0; worker->instances_free && i < worker->gpu_count; i++)
        if (gw_sched_gpu_is_instance(&worker->gpus[i]) &&
            takes_whole(&worker->gpus[i], shape, false))
            return true;
    return false;
}

bool gw_sched_gpu_could(const struct gw_gpu *gpu, const struct gw_shape *shape)
{
    return shape->gpu_share ? takes_shares(gpu, shape, true) > 0 : takes_whole(gpu, shape, true);
}

uint64_t gw_sched_gpu_ranks(const struct gw_worker *worker, const struct gw_shape *shape, bool ever)
{
    uint32_t gpus = gw_sched_shape_gpus(shape), found = 0;
    if (gpus == 0)
        return UINT64_MAX;
    if (!ever && worker->gpus_free < gpus && !shape->gpu_share)
        return 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        found += shape->gpu_share ? takes_shares(&worker->gpus[i], shape, ever)
                                  : takes_whole(&worker->gpus[i], shape, ever);
    return found / gpus;
}

/* -- Which ones ----------------------------------------------------------------------------------
 */

/* Whether two GPUs are in one group of a level. */
static bool together(const struct gw_gpu *a, const struct gw_gpu *b, uint32_t level)
{
    switch (level) {
    case 0:
        return a->island == b->island;
    case 1:
        return a->bridge == b->bridge;
    case 2:
        return a->numa_node == b->numa_node;
    default:
        return true;
    }
}

/* Below 0: a is given away first: an instance, so that GPUs stay whole, then the one with less
 * memory. */
static int by_worth(const struct gw_gpu *a, const struct gw_gpu *b)
{
    bool x = gw_sched_gpu_is_instance(a), y = gw_sched_gpu_is_instance(b);
    if (x != y)
        return x ? -1 : 1;
    return a->memory_bytes != b->memory_bytes ? (a->memory_bytes < b->memory_bytes ? -1 : 1) : 0;
}

/* The next GPU of a group after one, by worth and then number; after GW_NONE: the first. */
static uint32_t next_smallest(const struct gw_worker *worker, const struct gw_shape *shape,
                              uint32_t level, uint32_t like, uint32_t after)
{
    uint32_t best = GW_NONE;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        int behind = after == GW_NONE ? 1 : by_worth(gpu, &worker->gpus[after]);
        if (!takes_whole(gpu, shape, false) || !together(gpu, &worker->gpus[like], level))
            continue;
        if (behind < 0 || (behind == 0 && i <= after))
            continue;
        if (best == GW_NONE || by_worth(gpu, &worker->gpus[best]) < 0)
            best = i;
    }
    return best;
}

/* What a group of a level has to give. */
struct group {
    uint32_t like;  /* one of it */
    uint32_t count; /* that a rank could have */
    uint32_t last;  /* the one of most worth that would be taken */
};

static bool group_weigh(const struct gw_worker *worker, const struct gw_shape *shape,
                        uint32_t level, uint32_t wanted, struct group *group)
{
    uint32_t at = GW_NONE;
    group->count = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        group->count += takes_whole(&worker->gpus[i], shape, false) &&
                        together(&worker->gpus[i], &worker->gpus[group->like], level);
    if (group->count < wanted)
        return false;
    for (uint32_t i = 0; i < wanted; i++)
        at = next_smallest(worker, shape, level, group->like, at);
    group->last = at;
    return true;
}

/* The best group of a level for so many GPUs: worth no more than need be, then the one that is left
 * with fewest. */
static bool find_group(const struct gw_worker *worker, const struct gw_shape *shape, uint32_t level,
                       uint32_t wanted, struct group *best)
{
    bool found = false;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        struct group group = {.like = i};
        bool seen = i > 0 && together(&worker->gpus[i - 1], &worker->gpus[i], level);
        if (seen || !group_weigh(worker, shape, level, wanted, &group))
            continue;
        int worth = found ? by_worth(&worker->gpus[group.last], &worker->gpus[best->last]) : -1;
        if (worth < 0 || (worth == 0 && group.count < best->count))
            *best = group;
        found = true;
    }
    return found;
}

/* So many instances, each on the board where fewest of those before it are, as ranks on one board
 * cannot talk by NCCL; then by worth. Gives the most that are on one. */
static uint32_t pick_instances(const struct gw_worker *worker, const struct gw_shape *shape,
                               uint32_t wanted, uint32_t *numbers)
{
    uint32_t most = 0;
    for (uint32_t taken = 0; taken < wanted; taken++) {
        uint32_t best = GW_NONE, best_mates = 0;
        for (uint32_t i = 0; i < worker->gpu_count; i++) {
            uint32_t mates = 0;
            bool mine = !takes_whole(&worker->gpus[i], shape, false);
            for (uint32_t k = 0; k < taken; k++) {
                mates += strcmp(worker->gpus[numbers[k]].board, worker->gpus[i].board) == 0;
                mine = mine || numbers[k] == i;
            }
            if (mine ||
                (best != GW_NONE &&
                 (mates > best_mates ||
                  (mates == best_mates && by_worth(&worker->gpus[i], &worker->gpus[best]) >= 0))))
                continue;
            best = i;
            best_mates = mates;
        }
        assert(best != GW_NONE);
        numbers[taken] = best;
        most = best_mates + 1 > most ? best_mates + 1 : most;
    }
    return most;
}

bool gw_sched_gpu_near(const struct gw_worker *worker, const struct gw_shape *shape, uint32_t ranks)
{
    struct group group;
    uint32_t numbers[GPUS_MAX];
    if (shape->on_instances)
        return gw_sched_gpu_ranks(worker, shape, false) >= ranks &&
               pick_instances(worker, shape, ranks, numbers) <= 1;
    return !shape->gpu_share &&
           find_group(worker, shape, 0, ranks * gw_sched_shape_gpus(shape), &group);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void pick_whole(const struct gw_worker *worker, const struct gw_shape *shape,
                       uint32_t wanted, uint32_t *numbers)
{
    struct group group;
    uint32_t level = 0;
    if (shape->on_instances) {
        (void)pick_instances(worker, shape, wanted, numbers);
        qsort(numbers, wanted, sizeof *numbers, by_number);
        return;
    }
    while (!find_group(worker, shape, level, wanted, &group)) {
        level++;
        assert(level < LEVELS);
    }
    for (uint32_t i = 0, at = GW_NONE; i < wanted; i++)
        numbers[i] = at = next_smallest(worker, shape, level, group.like, at);
    qsort(numbers, wanted, sizeof *numbers, by_number);
}

/* The GPU for one more share, where `taken` of numbers[] are to be: the least room that suffices,
 * then the least worth. */
static uint32_t pick_share(const struct gw_worker *worker, const struct gw_shape *shape,
                           const uint32_t *numbers, uint32_t taken)
{
    uint32_t best = GW_NONE, best_room = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        uint32_t room = GW_GPU_WHOLE - gpu->shared, mine = 0;
        for (uint32_t k = 0; k < taken; k++)
            mine += numbers[k] == i;
        if (takes_shares(gpu, shape, false) <= mine)
            continue;
        room -= mine * shape->gpu_share;
        if (best == GW_NONE || room < best_room ||
            (room == best_room && by_worth(gpu, &worker->gpus[best]) < 0)) {
            best = i;
            best_room = room;
        }
    }
    return best;
}

void gw_sched_gpu_pick(const struct gw_worker *worker, const struct gw_shape *shape, uint32_t ranks,
                       uint32_t *numbers)
{
    if (!shape->gpu_share) {
        pick_whole(worker, shape, ranks * gw_sched_shape_gpus(shape), numbers);
        return;
    }
    for (uint32_t i = 0; i < ranks; i++) {
        numbers[i] = pick_share(worker, shape, numbers, i);
        assert(numbers[i] != GW_NONE);
    }
    qsort(numbers, ranks, sizeof *numbers, by_number);
}

/* -- Debits --------------------------------------------------------------------------------------
 */

/* Follows a change of what gw_sched_gpu_free says. */
static void count_free(struct gw_sched *sched, struct gw_worker *worker, const struct gw_gpu *gpu,
                       bool was)
{
    bool is = gw_sched_gpu_free(gpu), ready = worker->state == GW_WORKER_READY;
    uint32_t more = was == is ? 0 : is ? 1 : UINT32_MAX;
    worker->gpus_free += more;
    sched->gpus_free += ready ? more : 0;
    if (!gw_sched_gpu_is_instance(gpu))
        return;
    worker->instances_free += more;
    sched->instances_free += ready ? more : 0;
}

void gw_sched_gpus_take(struct gw_sched *sched, uint32_t slot, const uint32_t *numbers)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_worker *worker = attempt->worker;
    uint32_t picked[GPUS_MAX];
    if (!numbers) {
        gw_sched_gpu_pick(worker, attempt->lane->shape, 1, picked);
        numbers = picked;
    }
    attempt->gpu = numbers[0];
    for (uint32_t i = 0; i < attempt->gpus; i++) {
        struct gw_gpu *gpu = &worker->gpus[numbers[i]];
        bool was = gw_sched_gpu_free(gpu);
        assert(gpu->slot == GW_NONE && (attempt->gpu_share || was));
        if (attempt->gpu_share)
            gpu->shared += attempt->gpu_share;
        else
            gpu->slot = slot;
        count_free(sched, worker, gpu, was);
    }
}

uint32_t gw_sched_gpu_next(const struct gw_sched *sched, uint32_t slot, uint32_t from)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_worker *worker = attempt->worker;
    if (attempt->gpu_share)
        return from <= attempt->gpu ? attempt->gpu : GW_NONE;
    for (uint32_t i = from; attempt->gpus && i < worker->gpu_count; i++)
        if (worker->gpus[i].slot == slot)
            return i;
    return GW_NONE;
}

void gw_sched_gpus_give(struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_worker *worker = attempt->worker;
    for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NONE; i++) {
        struct gw_gpu *gpu = &worker->gpus[i];
        bool was = gw_sched_gpu_free(gpu);
        if (attempt->gpu_share)
            gpu->shared -= attempt->gpu_share;
        else
            gpu->slot = GW_NONE;
        count_free(sched, worker, gpu, was);
    }
}

/* -- What workers say ----------------------------------------------------------------------------
 */

int gw_sched_gpu_on_drained(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_gpu_drained *message)
{
    if (worker->state == GW_WORKER_GREETED || message->gpu >= worker->gpu_count)
        return GW_EPROTO;
    GW_FACT(sched, gpu_drained, .worker = worker, .gpu = message->gpu, .why = message->why);
    return 0;
}

void gw_sched_apply_gpu_drained(struct gw_sched *sched, const struct gw_fact_gpu_drained *fact)
{
    struct gw_gpu *gpu = &fact->worker->gpus[fact->gpu];
    bool was = gw_sched_gpu_free(gpu);
    free(gpu->drained);
    gpu->drained = NULL;
    if (*fact->why) {
        gpu->drained = strdup(fact->why);
        GW_MUST_PTR(gpu->drained);
    }
    count_free(sched, fact->worker, gpu, was);
    sched->workers_epoch++; /* who could ever hold what */
    gw_sched_shapes_update(sched);
    sched->freed = true;
}

int gw_sched_gpu_on_usage(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_gpu_usage *message)
{
    uint32_t count = worker->gpu_count;
    if (worker->state == GW_WORKER_GREETED || message->used_bytes.count != count ||
        message->processes.count != count || message->power_mw.count != count ||
        message->busy_percent.count != count)
        return GW_EPROTO;
    GW_FACT(sched, gpu_used, .worker = worker, .usage = message);
    return 0;
}

void gw_sched_apply_gpu_used(struct gw_sched *sched, const struct gw_fact_gpu_used *fact)
{
    (void)sched;
    for (uint32_t i = 0; i < fact->worker->gpu_count; i++) {
        struct gw_gpu *gpu = &fact->worker->gpus[i];
        gpu->used_bytes = gw_col64_at(fact->usage->used_bytes, i);
        gpu->processes = gw_col32_at(fact->usage->processes, i);
        gpu->power_mw = gw_col32_at(fact->usage->power_mw, i);
        gpu->busy_percent = gw_col32_at(fact->usage->busy_percent, i);
    }
}

/* -- For people ----------------------------------------------------------------------------------
 */

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
    if (memory_needed(shape))
        (void)snprintf(to + used, bytes - used, " with %.1f GiB%s",
                       (double)memory_needed(shape) / (1 << 30), gpus > 1 ? " each" : "");
}

void gw_sched_gpu_explain(const struct gw_sched *sched, const struct gw_shape *shape, char *to,
                          size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    uint32_t instances = sched->instances_free;
    *to = '\0';
    if (gw_sched_shape_gpus(shape) == 0)
        return;
    gw_text_say(&text, ", %u of %u GPUs", sched->gpus_free, sched->gpus);
    if (shape->on_instances)
        gw_text_say(&text,
                    " (%u of them MIG instances, which its ranks get as whole GPUs could "
                    "not suffice)",
                    instances);
    else if (instances && (gw_sched_gpu_has_kind(shape) || gw_sched_shape_gpus(shape) > 1))
        gw_text_say(&text, " (%u of them %s, and it waits for whole ones)", instances,
                    instances == 1 ? "is a MIG instance" : "are MIG instances");
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
    uint32_t drained;
    const char *why; /* one of them is */
};

static void add_offer(const struct gw_worker *worker, const struct gw_shape *shape,
                      struct offer *offer)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < worker->gpu_count; k++) {
        const struct gw_gpu *gpu = &worker->gpus[k];
        bool instance = gw_sched_gpu_is_instance(gpu);
        if (gpu->drained) {
            offer->drained++;
            offer->why = gpu->drained;
            continue;
        }
        if (instance && gw_sched_shape_gpus(shape) > 1) {
            offer->useless++;
            continue;
        }
        count++;
        if (gpu->memory_bytes > offer->memory_most)
            offer->memory_most = gpu->memory_bytes;
        if (gpu->memory_bytes >= memory_needed(shape))
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
    uint64_t needed = memory_needed(shape);
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

uint32_t gw_sched_gpus_drained(const struct gw_sched *sched)
{
    uint32_t count = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        for (uint32_t k = 0; worker && worker->state == GW_WORKER_READY && k < worker->gpu_count;
             k++)
            count += worker->gpus[k].drained != NULL;
    }
    return count;
}

static const char *state_of(const struct gw_gpu *gpu)
{
    if (gpu->drained)
        return "drained";
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
        char who[128], power[24];
        (void)snprintf(power, sizeof power, "%u W", (gpu->power_mw + 500) / 1000);
        set(dict, "worker", gw_i64(worker->id));
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
        set(dict, "drained", gw_str(gpu->drained ? gpu->drained : ""));
        set(dict, "used_by", owners(sched, worker, i, who, sizeof who));
        set(dict, "by", gw_str(gpu->drained ? gpu->drained : who));
        GW_MUST(gw_list_push(list, dict));
    }
}

/* -- What always holds ---------------------------------------------------------------------------
 */

void gw_sched_gpus_check(const struct gw_sched *sched, const struct gw_worker *worker)
{
    uint32_t free_ones = 0, free_instances = 0, whole = 0, attempts_whole = 0;
    uint64_t shared = 0, attempts_shared = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        assert(gpu->shared <= GW_GPU_WHOLE && (gpu->slot == GW_NONE || gpu->shared == 0));
        free_ones += gw_sched_gpu_free(gpu);
        free_instances += gw_sched_gpu_free(gpu) && gw_sched_gpu_is_instance(gpu);
        whole += gpu->slot != GW_NONE;
        shared += gpu->shared;
        assert(gpu->slot == GW_NONE || sched->attempts.items[gpu->slot].worker == worker);
    }
    assert(free_ones == worker->gpus_free && free_instances == worker->instances_free);
    for (uint32_t slot = worker->first; slot != GW_NONE; slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        uint32_t mine = 0;
        for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NONE; i++)
            mine++;
        assert(mine == attempt->gpus);
        assert(mine <= 1 || !gw_sched_gpu_is_instance(&worker->gpus[attempt->gpu]));
        attempts_shared += attempt->gpu_share;
        attempts_whole += attempt->gpu_share ? 0 : attempt->gpus;
    }
    assert(whole == attempts_whole && shared == attempts_shared);
}

void gw_sched_gpus_check_gang(const struct gw_sched *sched, const struct gw_gang_try *gang)
{
    int kind = -1;
    for (uint32_t i = 0; i < gang->count; i++) {
        if (gang->ranks[i].slot == GW_NONE)
            continue;
        const struct gw_attempt *attempt = &sched->attempts.items[gang->ranks[i].slot];
        if (!attempt->gpus || attempt->gpu_share)
            continue;
        bool instance = gw_sched_gpu_is_instance(&attempt->worker->gpus[attempt->gpu]);
        assert(kind < 0 || kind == instance);
        kind = instance;
    }
}
