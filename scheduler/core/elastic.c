/* Elastic gangs.
 *
 * What always holds: an attempt has between min_ranks and all ranks of its gang, whole nodes where
 * it has so many ranks a node. What it would start with is asked of one function, size_now, before
 * a gang grows as when it is placed: a gang that gives its room back to grow gets more. */
#include "scheduler/core/elastic.h"

#include "graph/base/text.h"
#include "scheduler/core/cooling.h"
#include "scheduler/core/gang_end.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/placement.h"
#include "scheduler/core/story.h"

/* A gang of commands runs that many times as long as it waits for all ranks before it is ended to
 * grow: 5 minutes, if nothing else is said. */
enum { GROWS_AFTER_WAITS = 10 };

uint32_t gw_sched_elastic_least(const struct gw_shape *shape)
{
    if (shape->min_ranks)
        return shape->min_ranks;
    return shape->ranks ? shape->ranks : 1;
}

/* All on one host: that stays so, however many they are. */
static bool on_one_host(const struct gw_shape *shape)
{
    return shape->per_node && shape->per_node == shape->ranks;
}

struct gw_shape gw_sched_elastic_shape(const struct gw_shape *shape, uint32_t ranks)
{
    struct gw_shape other = *shape;
    other.ranks = shape->ranks ? ranks : 0;
    if (on_one_host(shape))
        other.per_node = ranks;
    return other;
}

bool gw_sched_elastic_could(const struct gw_sched *sched, const struct gw_shape *shape)
{
    struct gw_shape least = gw_sched_elastic_shape(shape, gw_sched_elastic_least(shape));
    return gw_sched_ranks_ever(sched, &least) >= gw_sched_elastic_least(shape);
}

int gw_sched_elastic_check(const struct gw_msg_spec *spec, struct gw_error *error)
{
    if (spec->min_ranks > spec->ranks)
        return gw_error_set(error, GW_EINVAL, "a gang of %u ranks, and at least %u of them",
                            spec->ranks, spec->min_ranks);
    if (spec->min_ranks && spec->ranks_per_node && spec->ranks_per_node != spec->ranks &&
        spec->min_ranks % spec->ranks_per_node)
        return gw_error_set(error, GW_EINVAL,
                            "a gang of at least %u ranks, %u at each node: whole nodes, so a "
                            "multiple of %u",
                            spec->min_ranks, spec->ranks_per_node, spec->ranks_per_node);
    return 0;
}

/* -- How many ------------------------------------------------------------------------------------
 */

/* Counts what workers have room for, one after the other. */
struct sum {
    const struct gw_shape *shape;
    uint64_t ranks;
};

static void sum_add(struct sum *sum, uint64_t ranks)
{
    const struct gw_shape *shape = sum->shape;
    if (on_one_host(shape))
        sum->ranks = ranks > sum->ranks ? ranks : sum->ranks;
    else if (!shape->per_node)
        sum->ranks += ranks;
    else if (ranks >= shape->per_node)
        sum->ranks += shape->per_node;
}

/* As many as there is room for; 0: less than the fewest. */
static uint32_t sum_size(const struct sum *sum)
{
    const struct gw_shape *shape = sum->shape;
    if (sum->ranks >= shape->ranks)
        return shape->ranks;
    if (sum->ranks < gw_sched_elastic_least(shape) && !GW_PLANTED(260))
        return 0;
    return (uint32_t)sum->ranks;
}

/* What workers could hold that take ranks at that time. */
static uint32_t most_at(const struct gw_sched *sched, const struct gw_shape *shape, uint64_t at_ns)
{
    struct sum sum = {.shape = shape};
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        uint64_t ranks = gw_sched_ranks_at(sched, worker, shape, true);
        if (ranks && sched->now_ns + gw_sched_cooling_left_ns(sched, worker, shape) <= at_ns)
            sum_add(&sum, ranks > UINT32_MAX ? UINT32_MAX : ranks);
    }
    return sum_size(&sum);
}

uint32_t gw_sched_elastic_most(const struct gw_sched *sched, const struct gw_shape *shape)
{
    return most_at(sched, shape, UINT64_MAX);
}

static uint64_t full_until(const struct gw_sched *sched, const struct gw_shape *shape)
{
    return shape->full_wait_ns > UINT64_MAX - sched->now_ns ? UINT64_MAX
                                                            : sched->now_ns + shape->full_wait_ns;
}

/* How many ranks a gang that waits for all until full_ns starts with, where there is room as
 * summed. first: it is its first attempt in this life of the scheduler, so that workers may still
 * be on their way. */
static uint32_t size_now(const struct gw_sched *sched, const struct sum *sum, uint64_t full_ns,
                         bool first)
{
    uint32_t size = sum_size(sum), all = sum->shape->ranks;
    if (size == all || size == 0 || sched->now_ns >= full_ns)
        return size;
    return !first && most_at(sched, sum->shape, full_ns) < all ? size : 0;
}

uint32_t gw_sched_elastic_ranks(const struct gw_sched *sched, const struct gw_queue *queue,
                                const struct gw_pack *packs, uint32_t count)
{
    struct sum sum = {.shape = queue->shape};
    uint32_t row = gw_bits_first(&queue->ready);
    for (uint32_t i = 0; i < count; i++)
        sum_add(&sum, packs[i].ranks);
    return size_now(sched, &sum, queue->full_ns, queue->job->tasks.attempt[row] == 0);
}

uint64_t gw_sched_elastic_start(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, uint32_t ranks)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    uint64_t full_ns = spec->queue ? spec->queue->full_ns : 0;
    if (ranks >= spec->shape->ranks || full_ns <= sched->now_ns)
        return sched->now_ns;
    bool first = job->tasks.attempt[row] == 0;
    return first || most_at(sched, spec->shape, full_ns) == spec->shape->ranks ? full_ns
                                                                               : sched->now_ns;
}

uint32_t gw_sched_elastic_all(const struct gw_gang_try *gang)
{
    return gang->job->specs.items[gang->job->tasks.spec[gang->index]].message.ranks;
}

/* -- Waiting for all -----------------------------------------------------------------------------
 */

void gw_sched_elastic_wait(struct gw_sched *sched, struct gw_queue *queue)
{
    if (!queue->shape->min_ranks)
        return;
    queue->full_ns = full_until(sched, queue->shape);
    if (!sched->elastic_ns || queue->full_ns < sched->elastic_ns)
        sched->elastic_ns = queue->full_ns;
}

void gw_sched_elastic_on_tick(struct gw_sched *sched)
{
    if (sched->elastic_ns && sched->elastic_ns <= sched->now_ns)
        GW_FACT(sched, full_waited, .now_ns = sched->now_ns);
}

void gw_sched_apply_full_waited(struct gw_sched *sched, const struct gw_fact_full_waited *fact)
{
    sched->elastic_ns = 0;
    for (struct gw_queue *queue = sched->ageing; queue; queue = queue->age_next) {
        if (!queue->shape->min_ranks)
            continue;
        if (queue->full_ns <= fact->now_ns)
            queue->shape->blocked = false; /* it may start smaller now */
        else if (!sched->elastic_ns || queue->full_ns < sched->elastic_ns)
            sched->elastic_ns = queue->full_ns;
    }
}

uint64_t gw_sched_elastic_deadline_ns(const struct gw_sched *sched)
{
    return sched->elastic_ns ? sched->elastic_ns : UINT64_MAX;
}

/* -- Growing -------------------------------------------------------------------------------------
 */

static uint32_t ranks_of(const struct gw_gang_try *gang, const struct gw_worker *worker)
{
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < gang->count; i++)
        ranks += gang->ranks[i].worker == worker->id;
    return ranks;
}

/* How many ranks a gang that runs would have if it were started again now; its own room is free
 * then, and what is free beside that may be kept for a gang that waits. */
static uint32_t size_again(const struct gw_sched *sched, const struct gw_gang_try *gang,
                           const struct gw_shape *shape)
{
    struct sum sum = {.shape = shape};
    if (sched->reservation.job)
        return 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY ||
            gw_sched_cooling_left_ns(sched, worker, shape) > 0)
            continue;
        uint64_t ranks = gw_sched_ranks_at(sched, worker, shape, false);
        sum_add(&sum, (ranks > UINT32_MAX ? UINT32_MAX : ranks) + ranks_of(gang, worker));
    }
    return size_now(sched, &sum, full_until(sched, shape), false);
}

/* A command knows of no steps: it is ended gently, and what it does not save in its grace it does
 * again; so this is worth it only where it has run for many times what a start may wait. */
static void end_to_grow(struct gw_sched *sched, struct gw_gang_try *gang,
                        const struct gw_spec *spec)
{
    const struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED,
                               .text = "there is room for more of its ranks"};
    uint64_t grace_ns = spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
    gw_sched_gang_kill(sched, gang, &(struct gw_gang_kill){grace_ns, GW_KILL_PREEMPT, &end});
}

static bool ran_long(const struct gw_sched *sched, const struct gw_gang_try *gang,
                     const struct gw_spec *spec)
{
    return sched->now_ns - gang->went_ns >= GROWS_AFTER_WAITS * spec->shape->full_wait_ns;
}

void gw_sched_elastic_on_checkpoint(struct gw_sched *sched, struct gw_gang_try *gang)
{
    const struct gw_job *job = gang->job;
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[gang->index]];
    if (gang->count == spec->message.ranks || gang->state != GW_GANG_GOING || gang->stopped ||
        job->paused || job->tasks.state[gang->index] != GW_TASK_PLACED ||
        (spec->message.kind != GW_SPEC_FUNCTION && !ran_long(sched, gang, spec)))
        return;
    uint32_t size = size_again(sched, gang, spec->shape);
    if (size <= gang->count)
        return;
    if (!gang->growing)
        GW_FACT(sched, gang_growing, .gang = gang, .ranks = size);
    if (spec->message.kind == GW_SPEC_FUNCTION)
        gw_sched_gang_control(sched, gang, GW_CONTROL_PAUSE);
    else
        end_to_grow(sched, gang, spec);
}

void gw_sched_apply_gang_growing(struct gw_sched *sched, const struct gw_fact_gang_growing *fact)
{
    struct gw_gang_try *gang = fact->gang;
    gang->growing = true;
    GW_STORY(sched, gang->job, .kind = GW_STORY_GROWS, .index = gang->index, .count = gang->count,
             .number = fact->ranks,
             .detail = gang->job->specs.items[gang->job->tasks.spec[gang->index]].message.kind ==
                       GW_SPEC_COMMAND,
             .try_number = gang->job->tasks.charges[gang->index].tries);
}

/* -- In words ------------------------------------------------------------------------------------
 */

static void explain_fewer(const struct gw_sched *sched, const struct gw_gang_try *gang,
                          const struct gw_spec *spec, struct gw_text *text)
{
    const struct gw_msg_spec *message = &spec->message;
    uint32_t most = gw_sched_elastic_most(sched, spec->shape);
    gw_text_say(text, "; it runs with %u of %u ranks (--min-ranks %u): ", gang->count,
                message->ranks, message->min_ranks);
    if (most < message->ranks)
        gw_text_say(text, "the workers that are here have room for %u%s%s", most,
                    sched->lost_worker_ns ? "; " : "", sched->lost_worker);
    else
        gw_text_say(text, "there was no room for more when it started");
    if (gang->growing)
        gw_text_say(text,
                    "; there is room again: it was told to %s, and "
                    "starts again with more",
                    message->kind == GW_SPEC_FUNCTION ? "return at its next step" : "end");
    else if (message->kind == GW_SPEC_FUNCTION)
        gw_text_say(text, "; it grows at its next checkpoint when there is room");
    else
        gw_text_say(text,
                    "; it grows, when there is room and it has run for %.0f s, after its folder of "
                    "checkpoints has changed, or when it is started again (`gangway restart %llu`)",
                    (double)(GROWS_AFTER_WAITS * spec->shape->full_wait_ns) / 1e9,
                    (unsigned long long)gang->job->id);
}

void gw_sched_elastic_explain(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                              char *to, size_t bytes)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    const struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
    struct gw_text text = {to, bytes, 0};
    *to = '\0';
    if (!spec->shape || !spec->shape->min_ranks)
        return;
    if (gang && gang->count < spec->message.ranks)
        explain_fewer(sched, gang, spec, &text);
    if (gang || job->tasks.state[row] != GW_TASK_READY || !spec->queue)
        return;
    uint64_t full_ns = spec->queue->full_ns;
    gw_text_say(&text, "; it would start with %u or more (--min-ranks)", spec->message.min_ranks);
    if (full_ns > sched->now_ns)
        gw_text_say(&text, " %.0f s from now on (--full-wait)",
                    (double)(full_ns - sched->now_ns) / 1e9);
}
