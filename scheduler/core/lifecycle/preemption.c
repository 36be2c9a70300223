/* Preemption of running work.
 *
 * Invariants: while a preemption is in progress, an attempt that was told to end for it has not
 * ended, and its reservation is held for the task that waits. The first step in which one of both
 * is no longer so ends the preemption. */
#include "scheduler/core/lifecycle/preemption.h"

#include "scheduler/core/lifecycle/gang_control.h"
#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/reservation.h"
#include "scheduler/core/placement/victims.h"
#include "scheduler/core/send/outbox.h"

#include <string.h>

enum { QUEUES_MAX = 32 }; /* waiting tasks that one look considers, the first in the order */

/* -- Who waits --------------------------------------------------------------------------------- */

struct waiting {
    struct gw_queue *items[QUEUES_MAX];
    uint32_t count;
};

/* A reservation for work within its quotas stays, unless it is this work's, or comes later. */
static bool may_displace(const struct gw_sched *sched, const struct gw_queue *queue)
{
    const struct gw_reservation *reservation = &sched->reservations[GW_RESERVATION_OF_GANG];
    return !reservation->job || queue == reservation->queue ||
           gw_sched_queue_quota(reservation->queue) != GW_QUOTA_WITHIN ||
           gw_sched_queue_before(queue, reservation->queue);
}

static bool may_preempt(const struct gw_sched *sched, const struct gw_queue *queue)
{
    return queue->ready.count && queue->job->payer && queue->job->depth == 0 &&
           !gw_sched_range_full(queue->job) && !gw_sched_preemption_of(sched, queue->job) &&
           may_displace(sched, queue);
}

/* Inserts a queue into the first ones in the order. */
static void insert(struct waiting *waiting, struct gw_queue *queue)
{
    uint32_t at = waiting->count;
    while (at > 0 && gw_sched_queue_before(queue, waiting->items[at - 1]))
        at--;
    if (at == QUEUES_MAX)
        return;
    waiting->count += waiting->count < QUEUES_MAX;
    memmove(&waiting->items[at + 1], &waiting->items[at],
            (waiting->count - at - 1) * sizeof waiting->items[0]);
    waiting->items[at] = queue;
}

/* The first queue of a group speaks for the others, because they have the same rights. If it may
 * preempt nothing for a reason of its own, the next one does. */
static void find_in(const struct gw_sched *sched, const struct gw_queue_group *group,
                    struct waiting *waiting)
{
    struct gw_queue *first = group->heap.items[0];
    struct gw_queue *speaker = may_preempt(sched, first) ? first : NULL;
    for (size_t i = 1; i < group->heap.count && speaker != first &&
                       (first->ready.count == 0 || may_displace(sched, first));
         i++) {
        struct gw_queue *queue = group->heap.items[i];
        if (may_preempt(sched, queue) && (!speaker || gw_sched_queue_before(queue, speaker)))
            speaker = queue;
    }
    if (speaker)
        insert(waiting, speaker);
}

static void find_waiting(const struct gw_sched *sched, struct waiting *waiting)
{
    for (size_t i = 0; i < sched->shapes.count; i++) {
        const struct gw_resource_class *shape = sched->shapes.items[i];
        if (!shape || !shape->slots || shape->alone || shape->calls)
            continue;
        for (size_t k = 0; k < shape->groups.count; k++)
            find_in(sched, shape->groups.items[k], waiting);
    }
}

/* -- Who ends ---------------------------------------------------------------------------------- */

static void tell(struct gw_sched *sched, uint32_t number, const struct gw_victim *victim,
                 const char *by)
{
    const struct gw_attempt *attempt = &sched->attempts.items[victim->slot];
    const struct gw_msg_spec *spec =
        &attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]].message;
    const uint64_t grace_ns = spec->grace_ns ? spec->grace_ns : GW_GRACE_NS;
    const bool steps = victim->gang && spec->kind == GW_SPEC_FUNCTION;
    gw_sched_preemption_add(
        sched, number, victim->slot,
        steps && grace_ns < UINT64_MAX - sched->now_ns ? sched->now_ns + grace_ns : UINT64_MAX);
    if (victim->gang)
        gw_sched_gang_control_preempt(sched, victim->gang, by);
    else
        gw_sched_outbox_kill(sched, attempt->worker,
                             &(struct gw_kill_row){attempt->id, grace_ns, GW_KILL_PREEMPT});
}

/* Returns the number of the next preemption, or 0 if as many as possible are in progress. */
static uint32_t next_number(const struct gw_sched *sched)
{
    const uint32_t left = GW_RESERVATIONS_HELD & ~sched->preemptions.running;
    return left ? (uint32_t)__builtin_ctz(left) : 0;
}

static void begin(struct gw_sched *sched, struct gw_queue *queue, const struct gw_victims *victims)
{
    const uint32_t number = next_number(sched);
    char by[GW_PREEMPTED_BY_BYTES];
    (void)gw_sched_preemption_by(queue->job, by);
    gw_sched_reservation_hold(sched, number, queue, victims->reserved_ranks,
                              victims->reserved_count);
    gw_sched_preemption_begin(sched, number, queue);
    for (uint32_t i = 0; i < victims->count; i++)
        tell(sched, number, &victims->items[i], by);
}

/* Returns true if two queues ask for the same with the same rights. */
static bool are_twins(const struct gw_queue *a, const struct gw_queue *b)
{
    return a->shape == b->shape && a->priority == b->priority &&
           a->job->payer->account == b->job->payer->account &&
           a->job->submit_queue == b->job->submit_queue;
}

/* Returns true if one of the first `count` queues is a twin of the next one. */
static bool has_twin(const struct waiting *waiting, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (are_twins(waiting->items[i], waiting->items[count]))
            return true;
    return false;
}

/* Returns true if work was preempted in vain for this queue or a twin of it. */
static bool was_in_vain(struct gw_sched *sched, const struct gw_queue *queue)
{
    for (size_t i = 0; i < sched->preemptions.in_vain.count; i++) {
        const struct gw_preempted_in_vain *entry = &sched->preemptions.in_vain.items[i];
        struct gw_job *job = gw_sched_job_find(sched, entry->job);
        if (!job || !job->payer || job->compacted || gw_sched_job_rests(job) ||
            !gw_sched_row_live(job, entry->index) ||
            job->tasks.state[entry->index] != GW_TASK_READY)
            continue;
        if (are_twins(gw_sched_task_ready_queue(sched, job, entry->index), queue))
            return true;
    }
    return false;
}

/* Begins a preemption for the first task in the order for which work may end. Returns false if
 * there is none. */
static bool begin_next(struct gw_sched *sched, const struct waiting *waiting)
{
    const struct gw_victims all = gw_sched_victims_find(sched);
    struct gw_victims chosen;
    for (uint32_t i = 0; i < waiting->count && all.count; i++)
        if (!has_twin(waiting, i) && !was_in_vain(sched, waiting->items[i]) &&
            gw_sched_victims_choose(sched, waiting->items[i], &all, &chosen)) {
            begin(sched, waiting->items[i], &chosen);
            return true;
        }
    return false;
}

static void look(struct gw_sched *sched)
{
    struct waiting waiting = {0};
    const uint64_t every_ns = sched->options.preempt_look_ns;
    find_waiting(sched, &waiting);
    while (waiting.count && begin_next(sched, &waiting) && next_number(sched)) {
        waiting.count = 0;
        find_waiting(sched, &waiting);
    }
    gw_sched_preemption_looked(sched, sched->now_ns + (every_ns ? every_ns : GW_PREEMPT_LOOK_NS),
                               waiting.count > 0);
}

/* -- Progress ---------------------------------------------------------------------------------- */

/* Ends the gangs of functions whose grace period is over. */
static void end_late(struct gw_sched *sched, uint32_t number)
{
    const struct gw_preemption *preemption = &sched->preemptions.items[number];
    for (uint32_t i = 0; i < preemption->victims.count; i++) {
        const struct gw_preempted *victim = &preemption->victims.items[i];
        struct gw_gang_attempt *gang =
            victim->until_ns <= sched->now_ns ? gw_sched_gang_find(sched, victim->attempt) : NULL;
        char text[GW_ERROR_TEXT_MAX] = "it was preempted";
        if (victim->until_ns > sched->now_ns)
            continue;
        gw_sched_preemption_kill(sched, number, i);
        if (!gang || gang->state != GW_GANG_RUNNING)
            continue;
        (void)gw_sched_preemption_text(sched, gang->job, gang->index, text, sizeof text);
        const struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED, .text = text};
        gw_sched_gang_end_kill(sched, gang,
                               &(struct gw_gang_kill){GW_FAIL_GRACE_NS, GW_KILL_PREEMPT, &end});
    }
}

/* Functions that have not returned need not end any more. */
static void spare(struct gw_sched *sched, uint32_t number, const struct gw_preempted *victim)
{
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, victim->attempt);
    if (!gang || gang->state != GW_GANG_RUNNING || gang->paused || gang->job->paused ||
        victim->until_ns == UINT64_MAX)
        return;
    gw_sched_preemption_spare(sched, number, gang);
    gw_sched_gang_control_spare(sched, gang);
}

/* Returns true if the preemption is over: more tasks may be placed. */
static bool follow(struct gw_sched *sched, uint32_t number)
{
    const struct gw_preemption *preemption = &sched->preemptions.items[number];
    const bool held = sched->reserved >> number & 1;
    uint32_t live = 0;
    for (uint32_t i = 0; i < preemption->victims.count; i++)
        live += gw_sched_preemption_lives(sched, &preemption->victims.items[i]);
    if (held && live > 0) {
        end_late(sched, number);
        return false;
    }
    for (uint32_t i = 0; i < preemption->victims.count && !held; i++)
        spare(sched, number, &preemption->victims.items[i]);
    /* The room is free, and still the task did not start. To preempt again soon could repeat that.
     */
    if (held)
        gw_sched_preemption_failed(sched, number);
    gw_sched_preemption_over(sched, number);
    return true;
}

bool gw_sched_preemption_settle(struct gw_sched *sched)
{
    bool over = false;
    if (sched->shutting_down)
        return false;
    GW_EACH_RESERVATION (number, sched->preemptions.running)
        over |= follow(sched, number);
    if (!over && sched->accounts && next_number(sched) && sched->workers_ready &&
        sched->preemptions.look_ns <= sched->now_ns)
        look(sched);
    return over;
}

uint64_t gw_sched_preemption_deadline_ns(const struct gw_sched *sched)
{
    const struct gw_preemptions *preemptions = &sched->preemptions;
    uint64_t first_ns = UINT64_MAX;
    if (sched->shutting_down)
        return first_ns;
    if (sched->accounts && preemptions->waits && next_number(sched) && sched->workers_ready)
        first_ns = preemptions->look_ns;
    GW_EACH_RESERVATION (number, preemptions->running)
        for (uint32_t i = 0; i < preemptions->items[number].victims.count; i++)
            if (preemptions->items[number].victims.items[i].until_ns < first_ns)
                first_ns = preemptions->items[number].victims.items[i].until_ns;
    return first_ns;
}
