/* Choice of the work that is preempted.
 *
 * More work that ends only makes more room and relieves more quotas. So the shortest beginning of
 * the list that suffices is found by halving, and then each victim that is not needed is taken out
 * again, the one with the largest loss first. */
#include "scheduler/core/placement/victims.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/placement.h"

#include <stdlib.h>
#include <string.h>

enum { VICTIMS_MAX = 1024, SPARED_MAX = 64 }; /* considered; tried to be taken out again */

/* -- What may be preempted --------------------------------------------------------------------- */

static uint64_t began_ns(const struct gw_attempt *attempt)
{
    return attempt->gang ? attempt->gang->went_ns : attempt->started_ns;
}

/* Returns since when the work has saved nothing, or 0 if it may not be preempted. */
static uint64_t unsaved_since_ns(const struct gw_attempt *attempt)
{
    const struct gw_job *job = attempt->job;
    const struct gw_checkpointed *saved = gw_sched_checkpoint_of(job, attempt->index);
    if (attempt->gang && saved && saved->attempt == attempt->gang->id && !saved->home.gone)
        return saved->saved_ns > began_ns(attempt) ? saved->saved_ns : began_ns(attempt);
    return job->submit_queue && job->submit_queue->config->requeue ? began_ns(attempt) : 0;
}

static bool gang_runs(const struct gw_gang_attempt *gang)
{
    return gang->state == GW_GANG_RUNNING && gang->live == gang->count && !gang->stopped &&
           !gang->paused && !gang->growing;
}

static bool may_end(const struct gw_sched *sched, const struct gw_attempt *attempt)
{
    const struct gw_job *job = attempt->job;
    if (attempt->state == GW_ATTEMPT_FREE || !attempt->billed || attempt->preempted ||
        attempt->drain_ends || attempt->blocked || attempt->stands || job->depth > 0 ||
        job->actor || job->calls_of || job->paused ||
        job->tasks.state[attempt->index] != GW_TASK_PLACED)
        return false;
    if (attempt->gang ? attempt->rank != 0 || !gang_runs(attempt->gang)
                      : attempt->state != GW_ATTEMPT_RUNNING || !attempt->is_long)
        return false;
    return sched->now_ns - began_ns(attempt) >= sched->accounts->policy.preempt_after_ns &&
           unsaved_since_ns(attempt) > 0;
}

static void add(const struct gw_sched *sched, const struct gw_attempt *attempt,
                struct gw_victim *victim, double *weight)
{
    victim->part.use.slots += attempt->lane->shape->slots;
    victim->part.use.gpu_thousandths += gw_sched_attempt_gpu_thousandths(attempt);
    *weight += gw_account_weight(sched->accounts, attempt);
}

static struct gw_victim victim_of(const struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_victim victim = {
        .part.job = attempt->job,
        .gang = attempt->gang,
        .slot = slot,
        .priority =
            attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]].message.priority};
    double weight = 0;
    if (!attempt->gang)
        add(sched, attempt, &victim, &weight);
    for (uint32_t i = 0; attempt->gang && i < attempt->gang->count; i++)
        add(sched, &sched->attempts.items[attempt->gang->ranks[i].slot], &victim, &weight);
    victim.loss = weight * (double)(sched->now_ns - unsaved_since_ns(attempt));
    return victim;
}

/* Of equal losses, the job that was submitted last comes first. */
static int by_loss(const void *a, const void *b)
{
    const struct gw_victim *x = a, *y = b;
    if (x->loss < y->loss || x->loss > y->loss)
        return x->loss < y->loss ? -1 : 1;
    if (x->part.job->id != y->part.job->id)
        return x->part.job->id > y->part.job->id ? -1 : 1;
    return x->slot < y->slot ? -1 : 1;
}

struct gw_victims gw_sched_victims_find(struct gw_sched *sched)
{
    uint32_t count = 0, at = 0;
    for (uint32_t slot = 0; slot < sched->attempts.count; slot++)
        count += may_end(sched, &sched->attempts.items[slot]);
    struct gw_victim *victims =
        gw_arena_alloc(&sched->step.effects->arena, (count + 1) * sizeof *victims);
    GW_MUST_PTR(victims);
    for (uint32_t slot = 0; slot < sched->attempts.count && at < count; slot++) {
        const bool may = may_end(sched, &sched->attempts.items[slot]);
        if (may)
            victims[at++] = victim_of(sched, slot);
    }
    qsort(victims, count, sizeof *victims, by_loss);
    return (struct gw_victims){.items = victims, .count = count};
}

/* -- Choice ------------------------------------------------------------------------------------ */

/* Victims that may be chosen for a queue, and, in the same order, their parts. */
struct choice {
    struct gw_sched *sched;
    const struct gw_queue *queue;
    struct gw_victim *victims;
    struct gw_account_part *parts;
    uint32_t count;
    uint8_t *ended; /* by slot */
    struct gw_reserved_rank *reserved_ranks;
    uint32_t reserved_count;
};

static void *alloc(struct gw_sched *sched, size_t count, size_t size)
{
    void *block = gw_arena_alloc(&sched->step.effects->arena, (count + 1) * size);
    GW_MUST_PTR(block);
    return block;
}

static void mark(const struct choice *choice, const struct gw_victim *victim)
{
    if (!victim->gang)
        choice->ended[victim->slot] = 1;
    for (uint32_t i = 0; victim->gang && i < victim->gang->count; i++)
        choice->ended[victim->gang->ranks[i].slot] = 1;
}

/* Returns true if the task could start when the first `count` victims have ended. */
static bool suffices(struct choice *choice, uint32_t count)
{
    const struct gw_account_parts parts = {choice->parts, count, false};
    if (gw_account_quota_without(choice->queue, parts, NULL) != GW_QUOTA_WITHIN)
        return false;
    memset(choice->ended, 0, choice->sched->attempts.count);
    for (uint32_t i = 0; i < count; i++)
        mark(choice, &choice->victims[i]);
    choice->reserved_count = gw_sched_placement_room(choice->sched, choice->queue, choice->ended,
                                                     choice->reserved_ranks);
    return choice->reserved_count > 0;
}

/* Returns true if the task could start when all work that is preempted already has ended, and the
 * work for which that ends has started. Then nothing more needs to end. */
static bool starts_anyway(struct choice *choice)
{
    const struct gw_sched *sched = choice->sched;
    if (gw_account_quota_without(choice->queue, (struct gw_account_parts){.settled = true}, NULL) !=
        GW_QUOTA_WITHIN)
        return false;
    for (size_t slot = 0; slot < sched->attempts.count; slot++)
        choice->ended[slot] = sched->attempts.items[slot].state != GW_ATTEMPT_FREE &&
                              sched->attempts.items[slot].preempted;
    return gw_sched_placement_room(choice->sched, choice->queue, choice->ended,
                                   choice->reserved_ranks) > 0;
}

static void push(struct choice *choice, const struct gw_victim *victim)
{
    choice->victims[choice->count] = *victim;
    choice->parts[choice->count++] = victim->part;
}

/* With each victim of an account, its borrowed resources become less. */
static bool may_take(const struct choice *choice, const struct gw_victim *victim)
{
    const struct gw_job *job = choice->queue->job;
    const struct gw_account_parts parts = {choice->parts, choice->count, false};
    return victim->part.job != job &&
           (victim->priority < choice->queue->priority ||
            (gw_account_quota_borrows(&victim->part, job, (struct gw_account_parts){0}) &&
             gw_account_quota_borrows(&victim->part, job, parts)));
}

/* Lists the victims that this queue may take. */
static void list(struct choice *choice, const struct gw_victims *all)
{
    for (uint32_t i = 0; i < all->count && choice->count < VICTIMS_MAX; i++)
        if (may_take(choice, &all->items[i]))
            push(choice, &all->items[i]);
}

/* Finds the shortest beginning of the list that suffices. */
static void shorten(struct choice *choice)
{
    uint32_t least = 1, enough = choice->count;
    while (least < enough) {
        const uint32_t middle = least + (enough - least) / 2;
        if (suffices(choice, middle))
            enough = middle;
        else
            least = middle + 1;
    }
    choice->count = enough;
}

/* Takes a victim out of the list, or puts it back. */
static void take_out(struct choice *choice, uint32_t at)
{
    const size_t after = choice->count - at - 1;
    memmove(&choice->victims[at], &choice->victims[at + 1], after * sizeof *choice->victims);
    memmove(&choice->parts[at], &choice->parts[at + 1], after * sizeof *choice->parts);
    choice->count--;
}

static void put_back(struct choice *choice, uint32_t at, const struct gw_victim *victim)
{
    const size_t after = choice->count - at;
    memmove(&choice->victims[at + 1], &choice->victims[at], after * sizeof *choice->victims);
    memmove(&choice->parts[at + 1], &choice->parts[at], after * sizeof *choice->parts);
    choice->victims[at] = *victim;
    choice->parts[at] = victim->part;
    choice->count++;
}

static void spare_unneeded(struct choice *choice)
{
    uint32_t tries = 0;
    for (uint32_t at = choice->count; at-- > 0 && choice->count > 1 && tries < SPARED_MAX;
         tries++) {
        const struct gw_victim victim = choice->victims[at];
        take_out(choice, at);
        if (!suffices(choice, choice->count))
            put_back(choice, at, &victim);
    }
}

bool gw_sched_victims_choose(struct gw_sched *sched, const struct gw_queue *queue,
                             const struct gw_victims *all, struct gw_victims *chosen)
{
    struct choice choice = {.sched = sched, .queue = queue};
    const uint32_t most = all->count < VICTIMS_MAX ? all->count : VICTIMS_MAX;
    choice.victims = alloc(sched, most, sizeof *choice.victims);
    choice.parts = alloc(sched, most, sizeof *choice.parts);
    list(&choice, all);
    if (choice.count == 0)
        return false;
    choice.ended = alloc(sched, sched->attempts.count, sizeof *choice.ended);
    choice.reserved_ranks = alloc(sched, sched->workers.count, sizeof *choice.reserved_ranks);
    if (starts_anyway(&choice) || !suffices(&choice, choice.count))
        return false;
    shorten(&choice);
    spare_unneeded(&choice);
    GW_MUST(suffices(&choice, choice.count) ? 0 : GW_EINVAL);
    *chosen = (struct gw_victims){choice.victims, choice.count, choice.reserved_count,
                                  choice.reserved_ranks};
    return true;
}
