/* GPUs of workers: which are free, which ones a rank gets, and what workers report about them.
 *
 * Invariants: a whole GPU belongs to one attempt (`slot`). A shared GPU belongs to attempts whose
 * shares add up to at most the whole GPU. A drained GPU is not given to any attempt, but an attempt
 * that has it keeps it until its end. gpus_free counts the GPUs for which gw_sched_gpu_free is
 * true, and instances_free the MIG instances among them. A rank with several GPUs has no MIG
 * instance. A gang has only whole GPUs or only MIG instances. */
#include "scheduler/core/model/workers/gpu.h"

#include "scheduler/core/model/workers/queue.h"

#include "graph/wire/codec.h"
#include "scheduler/core/model/needed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 256, LEVELS = 4 };

/* -- The GPU list of a registration ----------------------------------------------------------- */

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
            .slot = GW_NO_INDEX,
            .twin = GW_NO_INDEX,
            .uuid = text_at(worker, gpu, 0),
            .name = text_at(worker, gpu, 1),
            .memory_bytes = (uint64_t)number_at(gpu, 2, 0),
            .nvlink_domain = (uint32_t)number_at(gpu, 3, i),
            .bridge = (uint32_t)number_at(gpu, 4, i),
            .numa_node = (int32_t)number_at(gpu, 5, -1),
            .physical_gpu = text_at(worker, gpu, 6),
            .cpus = text_at(worker, gpu, 7),
        };
    }
    gw_value_unref(list);
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        worker->instances_free += gw_sched_gpu_is_instance(&worker->gpus[i]);
}

void gw_sched_gpus_deinit(struct gw_worker *worker)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        free(worker->gpus[i].drained);
        free(worker->gpus[i].remembered);
        free(worker->gpus[i].back);
    }
    free(worker->gpus);
}

/* -- Free GPUs -------------------------------------------------------------------------------- */

bool gw_sched_gpu_is_instance(const struct gw_gpu *gpu)
{
    return *gpu->physical_gpu != '\0';
}

const char *gw_sched_gpu_why_drained(const struct gw_gpu *gpu)
{
    return gpu->drained ? gpu->drained : gpu->remembered;
}

/* Returns true if the GPU may be given to attempts at all. */
static bool is_usable(const struct gw_gpu *gpu)
{
    return !gw_sched_gpu_why_drained(gpu) && gpu->twin == GW_NO_INDEX;
}

bool gw_sched_gpu_free(const struct gw_gpu *gpu)
{
    return gpu->slot == GW_NO_INDEX && gpu->shared == 0 && is_usable(gpu);
}

uint64_t gw_sched_gpu_memory(const struct gw_resource_class *shape)
{
    return shape->need ? shape->need->gpu_memory_bytes : 0;
}

/* Returns true if the GPU is of the kind that a rank gets. CUDA shows a process with a MIG instance
 * no other GPU. */
static bool is_of_kind(const struct gw_gpu *gpu, const struct gw_resource_class *shape)
{
    bool instance = gw_sched_gpu_is_instance(gpu);
    if (gw_sched_gpu_has_kind(shape))
        return instance == shape->on_instances;
    return !instance || gw_sched_queue_class_gpus(shape) <= 1;
}

/* Returns true if a rank could have the whole GPU. */
static bool takes_whole(const struct gw_gpu *gpu, const struct gw_resource_class *shape, bool ever)
{
    return is_of_kind(gpu, shape) && gpu->memory_bytes >= gw_sched_gpu_memory(shape) &&
           (ever ? is_usable(gpu) : gw_sched_gpu_free(gpu));
}

/* Returns how many ranks could have a share of the GPU. */
static uint32_t takes_shares(const struct gw_gpu *gpu, const struct gw_resource_class *shape,
                             bool ever)
{
    uint64_t bytes = gpu->memory_bytes / GW_GPU_WHOLE * shape->gpu_fraction;
    if (bytes < gw_sched_gpu_memory(shape) || !is_usable(gpu) ||
        (!ever && gpu->slot != GW_NO_INDEX))
        return 0;
    return (GW_GPU_WHOLE - (ever ? 0 : gpu->shared)) / shape->gpu_fraction;
}

bool gw_sched_gpu_has_kind(const struct gw_resource_class *shape)
{
    return shape->ranks > 0 && gw_sched_queue_class_gpus(shape) > 0 && !shape->gpu_fraction;
}

bool gw_sched_gpu_likes_instances(const struct gw_resource_class *shape)
{
    return shape->ranks == 0 && gw_sched_queue_class_gpus(shape) == 1 && !shape->gpu_fraction;
}

bool gw_sched_gpu_has_instance(const struct gw_worker *worker,
                               const struct gw_resource_class *shape)
{
    for (uint32_t i = 0; worker->instances_free && i < worker->gpu_count; i++)
        if (gw_sched_gpu_is_instance(&worker->gpus[i]) &&
            takes_whole(&worker->gpus[i], shape, false))
            return true;
    return false;
}

bool gw_sched_gpu_could(const struct gw_gpu *gpu, const struct gw_resource_class *shape)
{
    return shape->gpu_fraction ? takes_shares(gpu, shape, true) > 0 : takes_whole(gpu, shape, true);
}

uint64_t gw_sched_gpu_ranks(const struct gw_worker *worker, const struct gw_resource_class *shape,
                            bool ever)
{
    uint32_t gpus = gw_sched_queue_class_gpus(shape), found = 0;
    if (gpus == 0)
        return UINT64_MAX;
    if (!ever && worker->gpus_free < gpus && !shape->gpu_fraction)
        return 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++)
        found += shape->gpu_fraction ? takes_shares(&worker->gpus[i], shape, ever)
                                     : takes_whole(&worker->gpus[i], shape, ever);
    return found / gpus;
}

/* -- Choosing GPUs ---------------------------------------------------------------------------- */

/* Returns true if two GPUs are in the same group at a level of the topology. */
static bool together(const struct gw_gpu *a, const struct gw_gpu *b, uint32_t level)
{
    switch (level) {
    case 0:
        return a->nvlink_domain == b->nvlink_domain;
    case 1:
        return a->bridge == b->bridge;
    case 2:
        return a->numa_node == b->numa_node;
    default:
        return true;
    }
}

/* Compares two GPUs. Negative: a is given away first. MIG instances go before whole GPUs, so that
 * GPUs stay whole, and GPUs with less memory go before others. */
static int by_worth(const struct gw_gpu *a, const struct gw_gpu *b)
{
    bool x = gw_sched_gpu_is_instance(a), y = gw_sched_gpu_is_instance(b);
    if (x != y)
        return x ? -1 : 1;
    return a->memory_bytes != b->memory_bytes ? (a->memory_bytes < b->memory_bytes ? -1 : 1) : 0;
}

/* Returns the next GPU of a group after `after`, ordered by by_worth and then by number.
 * GW_NO_INDEX: the first. */
static uint32_t next_smallest(const struct gw_worker *worker, const struct gw_resource_class *shape,
                              uint32_t level, uint32_t like, uint32_t after)
{
    uint32_t best = GW_NO_INDEX;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        int behind = after == GW_NO_INDEX ? 1 : by_worth(gpu, &worker->gpus[after]);
        if (!takes_whole(gpu, shape, false) || !together(gpu, &worker->gpus[like], level))
            continue;
        if (behind < 0 || (behind == 0 && i <= after))
            continue;
        if (best == GW_NO_INDEX || by_worth(gpu, &worker->gpus[best]) < 0)
            best = i;
    }
    return best;
}

/* What a group of GPUs at one level could give. */
struct group {
    uint32_t like;  /* a GPU of the group */
    uint32_t count; /* GPUs that a rank could have */
    uint32_t last;  /* the most valuable GPU that would be taken */
};

static bool group_weigh(const struct gw_worker *worker, const struct gw_resource_class *shape,
                        uint32_t level, uint32_t wanted, struct group *group)
{
    uint32_t at = GW_NO_INDEX;
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

/* Finds the best group of a level that has enough GPUs: the one whose chosen GPUs are least
 * valuable, then the one that has the fewest GPUs left. */
static bool find_group(const struct gw_worker *worker, const struct gw_resource_class *shape,
                       uint32_t level, uint32_t wanted, struct group *best)
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

/* Picks MIG instances on as many different physical GPUs as possible, because ranks on the same
 * physical GPU cannot use NCCL with each other. Less valuable instances are picked first. Returns
 * the largest number of picked instances on one physical GPU. */
static uint32_t pick_instances(const struct gw_worker *worker,
                               const struct gw_resource_class *shape, uint32_t wanted,
                               uint32_t *numbers)
{
    uint32_t most = 0;
    for (uint32_t taken = 0; taken < wanted; taken++) {
        uint32_t best = GW_NO_INDEX, best_mates = 0;
        for (uint32_t i = 0; i < worker->gpu_count; i++) {
            uint32_t mates = 0;
            bool mine = !takes_whole(&worker->gpus[i], shape, false);
            for (uint32_t k = 0; k < taken; k++) {
                mates += strcmp(worker->gpus[numbers[k]].physical_gpu,
                                worker->gpus[i].physical_gpu) == 0;
                mine = mine || numbers[k] == i;
            }
            if (mine ||
                (best != GW_NO_INDEX &&
                 (mates > best_mates ||
                  (mates == best_mates && by_worth(&worker->gpus[i], &worker->gpus[best]) >= 0))))
                continue;
            best = i;
            best_mates = mates;
        }
        assert(best != GW_NO_INDEX);
        numbers[taken] = best;
        most = best_mates + 1 > most ? best_mates + 1 : most;
    }
    return most;
}

bool gw_sched_gpu_near(const struct gw_worker *worker, const struct gw_resource_class *shape,
                       uint32_t ranks)
{
    struct group group;
    uint32_t numbers[GPUS_MAX];
    if (shape->on_instances)
        return gw_sched_gpu_ranks(worker, shape, false) >= ranks &&
               pick_instances(worker, shape, ranks, numbers) <= 1;
    return !shape->gpu_fraction &&
           find_group(worker, shape, 0, ranks * gw_sched_queue_class_gpus(shape), &group);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void pick_whole(const struct gw_worker *worker, const struct gw_resource_class *shape,
                       uint32_t wanted, uint32_t *numbers)
{
    struct group group = {0};
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
    for (uint32_t i = 0, at = GW_NO_INDEX; i < wanted; i++)
        numbers[i] = at = next_smallest(worker, shape, level, group.like, at);
    qsort(numbers, wanted, sizeof *numbers, by_number);
}

/* Picks the GPU for one more share, if numbers[] are already taken: the one with the least
 * sufficient room, then the least valuable. */
static uint32_t pick_share(const struct gw_worker *worker, const struct gw_resource_class *shape,
                           const uint32_t *numbers, uint32_t taken)
{
    uint32_t best = GW_NO_INDEX, best_room = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        uint32_t room = GW_GPU_WHOLE - gpu->shared, mine = 0;
        for (uint32_t k = 0; k < taken; k++)
            mine += numbers[k] == i;
        if (takes_shares(gpu, shape, false) <= mine)
            continue;
        room -= mine * shape->gpu_fraction;
        if (best == GW_NO_INDEX || room < best_room ||
            (room == best_room && by_worth(gpu, &worker->gpus[best]) < 0)) {
            best = i;
            best_room = room;
        }
    }
    return best;
}

void gw_sched_gpu_pick(const struct gw_worker *worker, const struct gw_resource_class *shape,
                       uint32_t ranks, uint32_t *numbers)
{
    if (!shape->gpu_fraction) {
        pick_whole(worker, shape, ranks * gw_sched_queue_class_gpus(shape), numbers);
        return;
    }
    for (uint32_t i = 0; i < ranks; i++) {
        numbers[i] = pick_share(worker, shape, numbers, i);
        assert(numbers[i] != GW_NO_INDEX);
    }
    qsort(numbers, ranks, sizeof *numbers, by_number);
}

/* -- Debits ----------------------------------------------------------------------------------- */

void gw_sched_gpu_counts(struct gw_sched *sched, struct gw_worker *worker, const struct gw_gpu *gpu,
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
    attempt->gpu = (uint16_t)numbers[0];
    for (uint32_t i = 0; i < attempt->gpus; i++) {
        struct gw_gpu *gpu = &worker->gpus[numbers[i]];
        bool was = gw_sched_gpu_free(gpu);
        assert(gpu->slot == GW_NO_INDEX && gpu->twin == GW_NO_INDEX);
        assert(attempt->gpu_fraction || gpu->shared == 0);
        if (attempt->gpu_fraction)
            gpu->shared += attempt->gpu_fraction;
        else
            gpu->slot = slot;
        gw_sched_gpu_counts(sched, worker, gpu, was);
    }
}

uint32_t gw_sched_gpu_next(const struct gw_sched *sched, uint32_t slot, uint32_t from)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_worker *worker = attempt->worker;
    if (attempt->gpu_fraction)
        return from <= attempt->gpu ? attempt->gpu : GW_NO_INDEX;
    for (uint32_t i = from; attempt->gpus && i < worker->gpu_count; i++)
        if (worker->gpus[i].slot == slot)
            return i;
    return GW_NO_INDEX;
}

void gw_sched_gpus_give(struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_worker *worker = attempt->worker;
    for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NO_INDEX; i++) {
        struct gw_gpu *gpu = &worker->gpus[i];
        bool was = gw_sched_gpu_free(gpu);
        if (attempt->gpu_fraction)
            gpu->shared -= attempt->gpu_fraction;
        else
            gpu->slot = GW_NO_INDEX;
        gw_sched_gpu_counts(sched, worker, gpu, was);
    }
}

static const char *physical_of(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                               uint32_t rank)
{
    const struct gw_attempt *attempt = &sched->attempts.items[gang->ranks[rank].slot];
    return attempt->gpus ? attempt->worker->gpus[attempt->gpu].physical_gpu : "";
}

bool gw_sched_gpu_is_physical_shared(const struct gw_sched *sched,
                                     const struct gw_gang_attempt *gang)
{
    if (!*physical_of(sched, gang, 0))
        return false; /* no rank has an instance: all are of one kind */
    for (uint32_t i = 1; i < gang->count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(physical_of(sched, gang, i), physical_of(sched, gang, k)) == 0)
                return true;
    return false;
}

/* -- Reports of workers ----------------------------------------------------------------------- */

int gw_sched_gpu_on_usage(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_gpu_usage *message)
{
    uint32_t count = worker->gpu_count;
    if (worker->state == GW_WORKER_CONNECTED || message->used_bytes.count != count ||
        message->processes.count != count || message->power_mw.count != count ||
        message->busy_percent.count != count || message->clearing.count != count)
        return GW_EPROTO;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        struct gw_gpu *gpu = &worker->gpus[i];
        gpu->used_bytes = gw_col64_at(message->used_bytes, i);
        gpu->processes = gw_col32_at(message->processes, i);
        gpu->power_mw = gw_col32_at(message->power_mw, i);
        const uint32_t busy = gw_col32_at(message->busy_percent, i);
        gpu->busy_percent = busy == UINT32_MAX ? 0 : busy;
        gpu->idle_since_ns = busy ? 0 : gpu->idle_since_ns ? gpu->idle_since_ns : sched->now_ns;
        gpu->clearing = gw_col32_at(message->clearing, i);
    }
    return 0;
}

/* -- Invariants ------------------------------------------------------------------------------- */

void gw_sched_gpus_check(const struct gw_sched *sched, const struct gw_worker *worker)
{
    uint32_t free_ones = 0, free_instances = 0, whole = 0, attempts_whole = 0;
    uint64_t shared = 0, attempts_shared = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        assert(gpu->shared <= GW_GPU_WHOLE && (gpu->slot == GW_NO_INDEX || gpu->shared == 0));
        free_ones += gw_sched_gpu_free(gpu);
        free_instances += gw_sched_gpu_free(gpu) && gw_sched_gpu_is_instance(gpu);
        whole += gpu->slot != GW_NO_INDEX;
        shared += gpu->shared;
        assert(gpu->slot == GW_NO_INDEX || sched->attempts.items[gpu->slot].worker == worker);
        assert(gpu->twin == GW_NO_INDEX || (gpu->slot == GW_NO_INDEX && gpu->shared == 0));
    }
    assert(free_ones == worker->gpus_free && free_instances == worker->instances_free);
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        uint32_t mine = 0;
        for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NO_INDEX; i++)
            mine++;
        assert(mine == attempt->gpus);
        assert(mine <= 1 || !gw_sched_gpu_is_instance(&worker->gpus[attempt->gpu]));
        attempts_shared += attempt->gpu_fraction;
        attempts_whole += attempt->gpu_fraction ? 0 : attempt->gpus;
    }
    assert(whole == attempts_whole && shared == attempts_shared);
}

void gw_sched_gpus_check_gang(const struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    int kind = -1;
    for (uint32_t i = 0; i < gang->count; i++) {
        if (gang->ranks[i].slot == GW_NO_INDEX)
            continue;
        const struct gw_attempt *attempt = &sched->attempts.items[gang->ranks[i].slot];
        if (!attempt->gpus || attempt->gpu_fraction)
            continue;
        bool instance = gw_sched_gpu_is_instance(&attempt->worker->gpus[attempt->gpu]);
        assert(kind < 0 || kind == instance);
        kind = instance;
    }
}
