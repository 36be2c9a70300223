/* The order in which waiting work is expected to start. It follows next_turn of placement.c: the
 * order within a group is that of its heap, and the groups are compared by their heads. */
#include "scheduler/core/placement/expected_order.h"

#include "graph/base/heap.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MOVED (1.0 / 64) /* as in policy.c */

/* -- The queues of a group -------------------------------------------------------------------- */

bool gw_expected_order_precedes(const struct gw_queue *a, const struct gw_queue *b)
{
    const struct gw_queue_key of_a = {.level = gw_sched_ageing_level(a)},
                              of_b = {.level = gw_sched_ageing_level(b)};
    return gw_sched_queue_less(a, of_a, b, of_b);
}

static void next_set(const struct gw_queue **items, size_t at, const struct gw_queue *queue)
{
    items[at] = queue;
}

GW_HEAP(next, const struct gw_queue *, gw_expected_order_precedes, next_set)

uint64_t gw_expected_order_to_come(const struct gw_job *job)
{
    return gw_sched_range_grows(job) ? job->range->count - job->tasks.count : 0;
}

static uint64_t tasks_of(const struct gw_expected_order *order, const struct gw_queue *queue)
{
    return queue == order->target ? order->ahead + 1
                                  : queue->ready.count + gw_expected_order_to_come(queue->job);
}

static void set_head(const struct gw_expected_order *order, struct gw_expected_group *group,
                     const struct gw_queue *queue)
{
    group->head = queue;
    group->left = queue ? tasks_of(order, queue) : 0;
    group->batch = group->batches = 0;
    group->quota_of = 0;
    group->since_ns = 0;
}

static void push_next(struct gw_expected_group *group, size_t at)
{
    if (at >= group->group->heap.count)
        return;
    GW_MUST(gw_array_push(&group->next, group->group->heap.items[at]));
    next_up(group->next.items, group->next.count - 1);
}

static bool is_apart(const struct gw_expected_order *order, const struct gw_queue *queue)
{
    for (uint32_t number = 1; number < GW_RESERVATIONS; number++)
        if (order->apart[number] == queue)
            return true;
    return false;
}

uint32_t gw_expected_order_held(const struct gw_expected_order *order, const struct gw_queue *queue)
{
    for (uint32_t number = 1; number < GW_RESERVATIONS; number++)
        if (order->held[number] == queue)
            return number;
    return 0;
}

/* Goes on to the next queue of the group that has tasks. */
static void advance(struct gw_expected_order *order, struct gw_expected_group *group)
{
    set_head(order, group, NULL);
    while (group->next.count && !group->head) {
        const struct gw_queue *queue = group->next.items[0];
        next_remove(group->next.items, &group->next.count, 0);
        push_next(group, (size_t)queue->heap_at * 2 + 1);
        push_next(group, (size_t)queue->heap_at * 2 + 2);
        order->work++;
        if (!is_apart(order, queue) && tasks_of(order, queue))
            set_head(order, group, queue);
    }
}

void gw_expected_order_add(struct gw_expected_order *order, const struct gw_queue *queue)
{
    struct gw_expected_group group = {0};
    for (size_t i = 0; i < order->groups.count; i++)
        if (!order->groups.items[i].group && order->groups.items[i].head == queue)
            return;
    set_head(order, &group, queue);
    if (group.left)
        GW_MUST(gw_array_push(&order->groups, group));
}

/* -- Begin and end ---------------------------------------------------------------------------- */

static void add_groups(struct gw_expected_order *order, const struct gw_resource_class *shape)
{
    for (size_t k = 0; k < shape->groups.count; k++) {
        struct gw_expected_group group = {.group = shape->groups.items[k]};
        push_next(&group, 0);
        advance(order, &group);
        GW_MUST(gw_array_push(&order->groups, group));
    }
    for (size_t k = 0; k < shape->parked.count; k++)
        gw_expected_order_add(order, shape->parked.items[k]);
}

static void copy_payers(struct gw_expected_order *order, const struct gw_accounts *accounts)
{
    const size_t count = accounts->payers.count + 1;
    order->payers = calloc(count, sizeof *order->payers);
    order->expected = calloc(count, sizeof *order->expected);
    order->ranks = calloc(count, sizeof *order->ranks);
    GW_MUST_PTR(order->payers);
    GW_MUST_PTR(order->expected);
    GW_MUST_PTR(order->ranks);
    for (size_t i = 0; i < accounts->payers.count; i++) {
        order->payers[i] = *accounts->payers.items[i];
        order->ranks[i] = order->payers[i].rank;
    }
    order->rate = accounts->rate;
    order->rate_moved = accounts->rate_moved;
}

void gw_expected_order_init(struct gw_expected_order *order, const struct gw_sched *sched,
                            const struct gw_queue *target, uint64_t ahead)
{
    *order = (struct gw_expected_order){
        .sched = sched, .target = target, .ahead = ahead, .version = 1, .ranked_ns = sched->now_ns};
    order->blocked = calloc(sched->shapes.count + 1, sizeof *order->blocked);
    GW_MUST_PTR(order->blocked);
    if (sched->accounts)
        copy_payers(order, sched->accounts);
    GW_EACH_RESERVATION (number, sched->reserved & GW_RESERVATIONS_HELD) {
        const struct gw_reservation *reservation = &sched->reservations[number];
        const struct gw_job *job = gw_sched_job_find(sched, reservation->job);
        const struct gw_queue *queue = job->specs.items[job->tasks.spec[reservation->index]].queue;
        order->apart[number] = order->held[number] = queue;
        gw_expected_order_add(order, queue);
    }
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i] && sched->shapes.items[i]->slots)
            add_groups(order, sched->shapes.items[i]);
    if (target->heap_at == GW_NO_INDEX)
        gw_expected_order_add(order, target);
}

void gw_expected_order_deinit(struct gw_expected_order *order)
{
    struct gw_expected_group *group;
    GW_ARRAY_EACH (&order->groups, group)
        gw_array_deinit(&group->next);
    gw_array_deinit(&order->groups);
    gw_array_deinit(&order->line);
    gw_array_deinit(&order->parts);
    gw_map_deinit(&order->jobs);
    free(order->blocked);
    free(order->payers);
    free(order->expected);
    free(order->ranks);
}

/* -- Quotas and fair share -------------------------------------------------------------------- */

/* The tasks of a job at workers, and its billed attempts. */
struct running {
    uint32_t placed, billed;
};

static struct running running_of(const struct gw_expected_order *order, const struct gw_job *job)
{
    uint64_t packed;
    if (!gw_map_get(&order->jobs, job->id, &packed))
        return (struct running){job->placed, job->billed};
    return (struct running){(uint32_t)(packed >> 32), (uint32_t)packed};
}

static struct gw_account_part *part_of(struct gw_expected_order *order, const struct gw_job *job)
{
    struct gw_account_part *part;
    GW_ARRAY_EACH (&order->parts, part)
        if (part->job->payer == job->payer && part->job->submit_queue == job->submit_queue)
            return part;
    GW_MUST(gw_array_push(&order->parts, ((struct gw_account_part){.job = job})));
    return &order->parts.items[order->parts.count - 1];
}

static void change(struct gw_expected_order *order, const struct gw_expected_run *run,
                   uint64_t now_ns, bool begins)
{
    const struct gw_job *job = run->job;
    struct running running = running_of(order, job);
    const bool ran = running.billed > 0;
    if (!job->payer && !job->range)
        return;
    order->work++;
    running.placed += begins ? run->tasks : -(uint32_t)run->tasks;
    if (run->billed)
        running.billed += begins ? run->attempts : -run->attempts;
    GW_MUST(gw_map_put(&order->jobs, job->id, (uint64_t)running.placed << 32 | running.billed));
    if (!job->payer || !run->billed)
        return;
    const struct gw_accounts *accounts = order->sched->accounts;
    const double weight = gw_account_weight_of(accounts, &run->use, run->memory_bytes);
    struct gw_account_part *part = part_of(order, job);
    const uint64_t sign = begins ? UINT64_MAX : 1; /* the sums are modulo 2^64 */
    part->use.slots += sign * run->use.slots;
    part->use.gpu_thousandths += sign * run->use.gpu_thousandths;
    part->use.running_jobs += (uint32_t)ran - (uint32_t)(running.billed > 0);
    order->version++;
    gw_account_add_rate(accounts, &order->payers[job->payer->number], now_ns,
                        begins ? weight : -weight);
    order->rate += begins ? weight : -weight;
    order->rate_moved += weight;
}

void gw_expected_order_begun(struct gw_expected_order *order, const struct gw_expected_run *run,
                             uint64_t now_ns)
{
    change(order, run, now_ns, true);
}

void gw_expected_order_ended(struct gw_expected_order *order, const struct gw_expected_run *run,
                             uint64_t now_ns)
{
    change(order, run, now_ns, false);
}

static void review(struct gw_expected_order *order, uint64_t now_ns)
{
    const struct gw_accounts *accounts = order->sched->accounts;
    if (!accounts || (now_ns - order->ranked_ns < GW_POLICY_RANK_NS &&
                      order->rate_moved <= order->rate * RATE_MOVED))
        return;
    for (size_t i = 0; i < accounts->payers.count; i++)
        order->expected[i] = gw_account_expected(accounts, &order->payers[i], now_ns);
    gw_sched_policy_rank(accounts, order->expected, order->ranks);
    order->version++;
    order->ranked_ns = now_ns;
    order->rate_moved = 0;
    order->work += 2 * accounts->payers.count;
}

/* A running job of an account is not one more; quota_of knows only whether it runs now. */
static enum gw_quota quota_of(struct gw_expected_order *order, struct gw_expected_group *group)
{
    const struct gw_job *job = group->head->job;
    if (!job->payer)
        return GW_QUOTA_WITHIN;
    if (group->quota_of == order->version)
        return group->quota;
    const struct gw_account_part own = {
        .job = job, .use.running_jobs = job->billed == 0 && running_of(order, job).billed > 0};
    GW_MUST(gw_array_push(&order->parts, own));
    const struct gw_account_parts ended = {.items = order->parts.items,
                                           .count = (uint32_t)order->parts.count};
    group->quota = gw_account_quota_without(group->head, ended, NULL);
    order->parts.count--;
    group->quota_of = order->version;
    order->work += 1 + order->parts.count / 4;
    return group->quota;
}

/* -- Who is next ------------------------------------------------------------------------------ */

/* Returns gw_sched_ageing_level at a later time, and notes when it rises. */
static int64_t level_at(struct gw_expected_order *order, const struct gw_expected_group *group,
                        uint64_t now_ns)
{
    const struct gw_queue *queue = group->head;
    const uint64_t each_ns = order->sched->options.ageing_ns;
    uint64_t aged = group->since_ns ? 0 : queue->aged;
    uint64_t rises_ns = group->since_ns ? group->since_ns + each_ns : queue->ages_ns;
    if (!queue->ages_ns)
        return queue->priority;
    if (rises_ns <= now_ns) {
        const uint64_t periods = 1 + (now_ns - rises_ns) / each_ns;
        aged += periods;
        rises_ns += periods * each_ns;
    }
    if (rises_ns < order->rises_ns && aged < GW_AGED_MAX)
        order->rises_ns = rises_ns;
    return queue->priority + (INT64_C(1) << (aged < GW_AGED_MAX ? aged : GW_AGED_MAX)) - 1;
}

static struct gw_queue_key key_of(struct gw_expected_order *order, struct gw_expected_group *group,
                                  uint64_t now_ns)
{
    const struct gw_payer *payer = group->head->job->payer;
    if (!payer)
        return (struct gw_queue_key){.level = level_at(order, group, now_ns)};
    return (struct gw_queue_key){group->head->priority, quota_of(order, group),
                                 order->ranks[payer->number]};
}

static bool is_full(const struct gw_expected_order *order, const struct gw_job *job)
{
    return job->range && running_of(order, job).placed >= job->range->limit;
}

/* A range at its limit does not stop the queues behind it. */
static void step_aside(struct gw_expected_order *order, struct gw_expected_group *group)
{
    struct gw_expected_group alone = *group;
    alone.group = NULL;
    memset(&alone.next, 0, sizeof alone.next);
    advance(order, group);
    GW_MUST(gw_array_push(&order->groups, alone));
}

/* Returns true if only its class may keep the head of a group from starting. */
static bool may_start(struct gw_expected_order *order, size_t at)
{
    struct gw_expected_group *group = &order->groups.items[at];
    while (group->head && group->group && is_full(order, group->head->job)) {
        step_aside(order, group);
        group = &order->groups.items[at];
    }
    return group->head && !is_full(order, group->head->job) &&
           quota_of(order, group) != GW_QUOTA_EXCEEDED;
}

bool gw_expected_order_before(struct gw_expected_order *order, struct gw_expected_group *group,
                              struct gw_expected_group *other, uint64_t now_ns)
{
    return gw_sched_queue_less(group->head, key_of(order, group, now_ns), other->head,
                               key_of(order, other, now_ns));
}

static bool is_sooner(struct gw_expected_candidate a, struct gw_expected_candidate b)
{
    if (a.held != b.held)
        return a.held;
    return gw_sched_queue_less(a.head, a.key, b.head, b.key);
}

static void turns_set(struct gw_expected_candidate *items, size_t at,
                      struct gw_expected_candidate candidate)
{
    items[at] = candidate;
}

GW_HEAP(turns, struct gw_expected_candidate, is_sooner, turns_set)

static struct gw_expected_candidate candidate_at(struct gw_expected_order *order, size_t at,
                                                 uint64_t now_ns)
{
    struct gw_expected_group *group = &order->groups.items[at];
    return (struct gw_expected_candidate){group->head, key_of(order, group, now_ns), at,
                                          gw_expected_order_held(order, group->head) > 0};
}

/* Lines up all groups that may start, because the order may have changed. */
static void line_up(struct gw_expected_order *order, uint64_t now_ns)
{
    gw_array_clear(&order->line);
    for (size_t i = 0; i < order->groups.count; i++)
        if (may_start(order, i))
            GW_MUST(gw_array_push(&order->line, candidate_at(order, i, now_ns)));
    for (size_t at = order->line.count / 2; at-- > 0;)
        turns_down(order->line.items, order->line.count, at);
    order->behind = false;
    order->lined_up = order->version;
    order->work += 1 + order->groups.count / 2;
}

struct gw_expected_group *gw_expected_order_first(struct gw_expected_order *order, uint64_t now_ns)
{
    review(order, now_ns);
    if (order->lined_up != order->version)
        line_up(order, now_ns);
    while (order->line.count) {
        const struct gw_expected_candidate first = order->line.items[0];
        order->work++;
        if (!order->blocked[first.head->shape->id])
            return &order->groups.items[first.at];
        order->behind |= first.head->shape->ranks == 0;
        turns_remove(order->line.items, &order->line.count, 0);
    }
    return NULL;
}

void gw_expected_order_unblock(struct gw_expected_order *order)
{
    const size_t count = order->sched->shapes.count;
    memset(order->blocked, 0, count * sizeof *order->blocked);
    order->rises_ns = UINT64_MAX;
    order->lined_up = 0;
    order->work += 1 + count / 64;
}

/* The head of the first group in the line has changed. */
static void line_again(struct gw_expected_order *order, size_t at, uint64_t now_ns)
{
    if (order->lined_up != order->version)
        return; /* all are lined up anew */
    if (may_start(order, at)) {
        order->line.items[0] = candidate_at(order, at, now_ns);
        turns_down(order->line.items, order->line.count, 0);
    } else {
        turns_remove(order->line.items, &order->line.count, 0);
    }
}

void gw_expected_order_start(struct gw_expected_order *order, struct gw_expected_group *group,
                             uint64_t tasks, uint64_t now_ns)
{
    order->held[gw_expected_order_held(order, group->head)] = NULL;
    group->since_ns = now_ns;
    group->left -= tasks;
    if (group->left == 0 && group->group)
        advance(order, group);
    else if (group->left == 0)
        set_head(order, group, NULL);
    line_again(order, (size_t)(group - order->groups.items), now_ns);
}
