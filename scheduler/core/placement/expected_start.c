/* The time at which waiting work is expected to start.
 *
 * The computation follows placement.c and reservation.c: at each time at which something ends, each
 * resource class tries its first task, in the order of the policy; a class whose first task does
 * not fit is blocked; the first gang that does not fit gets a reservation.
 *
 * If a queue has many tasks, a batch of them counts as one task that runs as long as all of them,
 * one after the other. There are as many batches as the cluster could run tasks of this class at
 * the same time; the rest are single tasks. So the time at which all have started is the same. */
#include "scheduler/core/placement/expected_start.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/expected_course.h"
#include "scheduler/core/placement/forecast.h"
#include "scheduler/core/placement/packing.h"
#include "scheduler/core/placement/reservation_guard.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHED_MIN = 1024 };

/* Room for one rank, or for the ranks of one node, of the gang with the reservation. */
struct opening {
    uint64_t at_ns;
    uint32_t copy;
};

/* The reservation of the first waiting gang. */
struct reserved {
    const struct gw_queue *queue; /* NULL: none */
    size_t group;                 /* of its queue */
    uint64_t start_ns;
    bool outdated;                     /* start_ns, and the times of the openings */
    GW_ARRAY(struct opening) openings; /* by time */
};

struct rehearsal {
    struct gw_expected_course course;
    struct reserved reserved;
    struct gw_reservation reservations[GW_RESERVATIONS]; /* only the resource classes are set */
    uint32_t held;                                       /* those of preemptions */
    uint64_t woken_ns;
    bool all; /* all workers may have new room; else those that course.touched names */
};

/* -- The reservation -------------------------------------------------------------------------- */

static void unreserve(struct rehearsal *r)
{
    struct reserved *reserved = &r->reserved;
    for (size_t i = 0; i < reserved->openings.count; i++)
        gw_worker_copy_reserve(&r->course.copies[reserved->openings.items[i].copy],
                               GW_RESERVATION_OF_GANG, reserved->queue->shape, 0);
    gw_array_clear(&reserved->openings);
    reserved->queue = NULL;
    reserved->outdated = false;
}

/* Returns the number of ranks of the gang that are reserved at a worker. */
static uint32_t reserved_of(const struct gw_worker *copy)
{
    return copy->reserved_ranks[GW_RESERVATION_OF_GANG];
}

static uint32_t ranks_of_opening(const struct gw_resource_class *shape)
{
    return shape->per_node ? shape->per_node : 1;
}

static void reserve_at(struct rehearsal *r, uint64_t at_ns, uint32_t at)
{
    struct gw_worker *copy = &r->course.copies[at];
    const struct gw_resource_class *shape = r->reserved.queue->shape;
    const struct opening opening = {at_ns, at};
    GW_MUST(gw_array_push(&r->reserved.openings, opening));
    gw_worker_copy_reserve(copy, GW_RESERVATION_OF_GANG, shape,
                           reserved_of(copy) + ranks_of_opening(shape));
    r->reserved.start_ns = at_ns;
}

/* Returns how many ranks of a class have room at a worker besides these reservations. */
static uint64_t ranks_beside(const struct rehearsal *r, const struct gw_worker *copy,
                             const struct gw_resource_class *shape, uint32_t restricts)
{
    const uint64_t ranks = gw_sched_gang_size_ranks_at(r->course.sched, copy, shape, false);
    const uint64_t left =
        ranks ? gw_sched_reservation_guard_beside(r->reservations, copy, shape, restricts) : 0;
    return left < ranks ? left : ranks;
}

/* Reserves what a worker has room for, beyond what is reserved there. */
static bool reserve_room(struct gw_expected_course *course, uint64_t at_ns, uint32_t at, void *arg)
{
    struct rehearsal *r = arg;
    const struct gw_resource_class *shape = r->reserved.queue->shape;
    const struct gw_worker *copy = &course->copies[at];
    const uint32_t each = ranks_of_opening(shape), wanted = shape->ranks / each;
    const uint64_t ranks = gw_sched_gang_size_ranks_at(course->sched, copy, shape, false);
    while (r->reserved.openings.count < wanted && reserved_of(copy) + each <= ranks &&
           !(shape->per_node && reserved_of(copy)) && !(copy->reserved & r->held))
        reserve_at(r, at_ns, at);
    return r->reserved.openings.count == wanted;
}

/* Reserves the room that is free first, and returns whether there will be enough. */
static bool make(struct rehearsal *r, size_t group)
{
    unreserve(r);
    r->reserved.queue = r->course.order.groups.items[group].head;
    r->reserved.group = group;
    r->reservations[GW_RESERVATION_OF_GANG].shape = r->reserved.queue->shape;
    return gw_expected_course_foresee(&r->course, reserve_room, r);
}

/* Notes when a worker has room for all ranks that are reserved there. */
static bool see_reserved(struct gw_expected_course *course, uint64_t at_ns, uint32_t at, void *arg)
{
    struct reserved *reserved = arg;
    const struct gw_worker *copy = &course->copies[at];
    bool all = true;
    const bool fits = reserved_of(copy) &&
                      gw_sched_gang_size_ranks_at(course->sched, copy, reserved->queue->shape,
                                                  false) >= reserved_of(copy);
    for (size_t i = 0; i < reserved->openings.count; i++) {
        struct opening *opening = &reserved->openings.items[i];
        if (fits && opening->copy == at && opening->at_ns == UINT64_MAX)
            opening->at_ns = at_ns;
        all = all && opening->at_ns != UINT64_MAX;
    }
    return all;
}

static int by_time(const void *a, const void *b)
{
    const struct opening *x = a, *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* Computes again when the reserved room will be free, because other work has taken some of it. */
static void foresee(struct rehearsal *r)
{
    struct reserved *reserved = &r->reserved;
    for (size_t i = 0; i < reserved->openings.count; i++)
        reserved->openings.items[i].at_ns = UINT64_MAX;
    (void)gw_expected_course_foresee(&r->course, see_reserved, reserved);
    qsort(reserved->openings.items, reserved->openings.count, sizeof *reserved->openings.items,
          by_time);
    reserved->start_ns = reserved->openings.items[reserved->openings.count - 1].at_ns;
    reserved->outdated = false;
}

static void make_if_known(struct rehearsal *r, size_t group)
{
    const struct gw_resource_class *shape = r->course.order.groups.items[group].head->shape;
    if (gw_sched_places_of(shape) || !make(r, group)) {
        r->course.unsure = true; /* the work behind this gang may have to wait for it */
        unreserve(r);
    }
}

/* Moves reserved ranks to workers where other room became free sooner. */
static void move_reserved(struct rehearsal *r)
{
    struct reserved *reserved = &r->reserved;
    const struct gw_resource_class *shape = reserved->queue->shape;
    if (reserved->outdated)
        foresee(r);
    for (size_t i = 0; i < r->course.touched.count; i++) {
        const uint32_t at = r->course.touched.items[i];
        struct gw_worker *copy = &r->course.copies[at];
        const uint64_t ranks = ranks_beside(r, copy, shape, r->held);
        while (ranks > reserved_of(copy) && reserved->openings.count) {
            const struct opening last = reserved->openings.items[reserved->openings.count - 1];
            struct gw_worker *from = &r->course.copies[last.copy];
            if (last.copy == at || last.at_ns <= r->course.now_ns)
                break;
            if (shape->per_node) {
                make_if_known(r, reserved->group);
                return;
            }
            memmove(reserved->openings.items + 1, reserved->openings.items,
                    (reserved->openings.count - 1) * sizeof last);
            reserved->openings.items[0] = (struct opening){r->course.now_ns, at};
            gw_worker_copy_reserve(from, GW_RESERVATION_OF_GANG, shape, reserved_of(from) - 1);
            gw_worker_copy_reserve(copy, GW_RESERVATION_OF_GANG, shape, reserved_of(copy) + 1);
            GW_MUST(gw_array_push(&r->course.touched, last.copy));
            reserved->start_ns = reserved->openings.items[reserved->openings.count - 1].at_ns;
            r->course.order.work++;
        }
    }
}

/* Reserves the room of the work for which other work is preempted. */
static void hold(struct rehearsal *r)
{
    const struct gw_sched *sched = r->course.sched;
    GW_EACH_RESERVATION (number, sched->reserved & GW_RESERVATIONS_HELD) {
        const struct gw_resource_class *shape = r->course.order.held[number]->shape;
        r->held |= 1U << number;
        r->reservations[number].shape = r->course.order.held[number]->shape;
        for (uint32_t at = 0; at < r->course.count; at++) {
            struct gw_worker *copy = &r->course.copies[at];
            const struct gw_worker *worker = gw_sched_worker_find(sched, copy->id);
            gw_worker_copy_reserve(copy, number, shape, worker->reserved_ranks[number]);
        }
    }
}

static void release(struct rehearsal *r, uint32_t number)
{
    for (uint32_t at = 0; at < r->course.count; at++)
        gw_worker_copy_reserve(&r->course.copies[at], number, r->reservations[number].shape, 0);
    r->held &= ~(1U << number);
}

static bool comes_before_reserved(struct rehearsal *r, struct gw_expected_group *group)
{
    return gw_expected_order_before(&r->course.order, group,
                                    &r->course.order.groups.items[r->reserved.group],
                                    r->course.now_ns);
}

/* Returns true if a task may use the room of the first waiting gang. */
static bool passes(struct rehearsal *r, struct gw_expected_group *group, const struct gw_spec *spec)
{
    const struct reserved *reserved = &r->reserved;
    const struct gw_msg_spec *message = &spec->message;
    if (!reserved->queue || group->head == reserved->queue || comes_before_reserved(r, group))
        return true;
    if (!message->time_limit_ns)
        return false;
    if (reserved->outdated)
        foresee(r);
    const uint64_t grace_ns = message->grace_ns ? message->grace_ns : GW_GRACE_NS;
    const uint64_t left_ns =
        reserved->start_ns > r->course.now_ns ? reserved->start_ns - r->course.now_ns : 0;
    return reserved->start_ns != UINT64_MAX && message->time_limit_ns <= left_ns &&
           grace_ns <= left_ns - message->time_limit_ns;
}

static uint32_t reservations_of(const struct rehearsal *r)
{
    return r->held | (uint32_t)(r->reserved.queue != NULL) << GW_RESERVATION_OF_GANG;
}

/* Returns the set of reservations that restrict a task, see gw_sched_reservation_restricts. */
static uint32_t restricts_of(struct rehearsal *r, struct gw_expected_group *group,
                             const struct gw_spec *spec)
{
    const uint32_t number = gw_expected_order_held(&r->course.order, group->head);
    if (group->head->job->depth > 0)
        return 0;
    if (number)
        return r->held & ~(1U << number);
    return passes(r, group, spec) ? r->held : reservations_of(r);
}

/* -- Starts ----------------------------------------------------------------------------------- */

static const struct gw_spec *spec_of(const struct gw_queue *queue)
{
    const struct gw_job *job = queue->job;
    return &job->specs
                .items[queue->ready.count ? job->tasks.spec[gw_bits_first(&queue->ready)] : 0];
}

/* Returns the number of tasks of a class that the workers could run at the same time. */
static uint64_t capacity(const struct rehearsal *r, const struct gw_queue *queue)
{
    const struct gw_resource_class *shape = queue->shape;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->course.count; i++)
        sum += gw_sched_gang_size_ranks_at(r->course.sched, &r->course.copies[i], shape, true);
    if (queue->job->range && queue->job->range->limit < sum)
        sum = queue->job->range->limit;
    return sum ? sum : 1;
}

static void divide(struct rehearsal *r, struct gw_expected_group *group)
{
    const uint64_t tasks = group->left - (group->head == r->course.order.target);
    group->batch = 1;
    if (tasks < BATCHED_MIN)
        return;
    group->batches = capacity(r, group->head);
    group->batch = tasks / group->batches ? tasks / group->batches : 1;
    r->course.order.work += r->course.count;
}

static void begin(struct rehearsal *r, const struct gw_expected_begin *begin)
{
    gw_expected_course_begin(&r->course, begin);
    r->reserved.outdated |= reserved_of(&r->course.copies[begin->copy]) > 0;
}

/* Returns the worker with the most free slots besides reserved ones that has room for a task, or
 * GW_NO_INDEX. */
static uint32_t find_room(struct rehearsal *r, const struct gw_queue *queue, uint32_t restricts)
{
    const struct gw_resource_class *shape = queue->shape;
    const bool all = r->all || (reservations_of(r) & ~restricts); /* reserved room, too */
    const size_t count = all ? r->course.count : r->course.touched.count;
    uint32_t best = GW_NO_INDEX;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = all ? (uint32_t)i : r->course.touched.items[i];
        const struct gw_worker *copy = &r->course.copies[at];
        if ((best == GW_NO_INDEX ||
             gw_sched_worker_open(copy) > gw_sched_worker_open(&r->course.copies[best])) &&
            gw_sched_worker_fits(r->course.sched, copy, shape) &&
            gw_sched_reservation_guard_beside(r->reservations, copy, shape, restricts) > 0)
            best = at;
    }
    r->course.order.work += 1 + count / 4;
    return best;
}

static bool start_task(struct rehearsal *r, struct gw_expected_group *group,
                       const struct gw_spec *spec)
{
    bool known;
    const uint64_t run_ns = gw_sched_forecast_left_ns(spec, 0, &known);
    const uint32_t at = find_room(r, group->head, restricts_of(r, group, spec));
    if (at == GW_NO_INDEX)
        return false;
    if (!group->batch)
        divide(r, group);
    begin(r, &(struct gw_expected_begin){group->head, at,
                                         run_ns < UINT64_MAX / group->batch ? run_ns * group->batch
                                                                            : UINT64_MAX,
                                         known, true});
    return true;
}

/* Returns with how many ranks a gang starts in the room of these workers, or 0. */
static uint32_t size_now(struct rehearsal *r, const struct gw_queue *queue,
                         const struct gw_pack *packs, uint32_t count)
{
    const struct gw_resource_class *shape = queue->shape;
    struct gw_gang_sum sum = {.shape = shape};
    if (!shape->min_ranks)
        return shape->ranks;
    for (uint32_t i = 0; i < count; i++)
        gw_sched_gang_size_sum_add(&sum, packs[i].ranks);
    const uint32_t size = gw_sched_gang_size_of_sum(&sum);
    if (size == shape->ranks || queue->full_ns <= r->course.now_ns)
        return size;
    if (r->woken_ns < queue->full_ns) { /* it may start then, although nothing ends */
        r->woken_ns = queue->full_ns;
        gw_expected_course_wake(&r->course, queue->full_ns);
    }
    return 0;
}

static uint32_t find_packs(struct rehearsal *r, const struct gw_queue *queue, uint32_t restricts,
                           struct gw_pack *packs)
{
    const struct gw_resource_class *shape = queue->shape;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->course.count; i++) {
        struct gw_worker *copy = &r->course.copies[i];
        const uint64_t ranks = ranks_beside(r, copy, shape, restricts);
        if (ranks)
            packs[count++] = (struct gw_pack){
                .worker = copy, .ranks = ranks > UINT32_MAX ? UINT32_MAX : (uint32_t)ranks};
    }
    r->course.order.work += r->course.count;
    const uint32_t size = size_now(r, queue, packs, count);
    const struct gw_resource_class now = gw_sched_gang_size_shape(shape, size);
    return size ? gw_sched_packing(&now, packs, count) : 0;
}

static bool start_gang(struct rehearsal *r, struct gw_expected_group *group,
                       const struct gw_spec *spec)
{
    const struct gw_queue *queue = group->head;
    const struct gw_resource_class *shape = queue->shape;
    const uint64_t least = gw_sched_gang_size_least(shape);
    bool known;
    const uint64_t run_ns = gw_sched_forecast_left_ns(spec, 0, &known);
    if (r->course.slots_free < least * shape->slots ||
        (!shape->gpu_fraction && r->course.gpus_free < least * gw_sched_queue_class_gpus(shape)))
        return false;
    struct gw_pack *packs = malloc((r->course.count + 1) * sizeof *packs);
    GW_MUST_PTR(packs);
    const uint32_t count = find_packs(r, queue, restricts_of(r, group, spec), packs);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < packs[i].ranks; k++)
            begin(r,
                  &(struct gw_expected_begin){queue, (uint32_t)(packs[i].worker - r->course.copies),
                                              run_ns, known, i + k == 0});
    free(packs);
    return count > 0;
}

/* -- The course of time ----------------------------------------------------------------------- */

/* The head of a group does not fit: see gw_sched_reservation_on_blocked. */
static void block(struct rehearsal *r, struct gw_expected_group *group)
{
    struct reserved *reserved = &r->reserved;
    const struct gw_queue *queue = group->head;
    r->course.order.blocked[queue->shape->id] = true;
    if (queue == reserved->queue) {
        move_reserved(r);
        return;
    }
    const bool before = reserved->queue && comes_before_reserved(r, group);
    if (queue->shape->ranks) {
        if (!r->course.order.behind && (before || !reserved->queue))
            make_if_known(r, (size_t)(group - r->course.order.groups.items));
    } else if (before && queue->job->depth == 0) {
        unreserve(r);
        r->all = true;
    }
}

static bool is_over(const struct rehearsal *r)
{
    return r->course.order.work > GW_EXPECTED_WORK_MAX;
}

/* Starts what fits, and returns true if the task in question is among it. */
static bool place(struct rehearsal *r)
{
    struct gw_expected_group *group;
    gw_expected_order_unblock(&r->course.order);
    while (!is_over(r) && (group = gw_expected_order_first(&r->course.order, r->course.now_ns))) {
        const struct gw_queue *queue = group->head;
        const struct gw_spec *spec = spec_of(queue);
        const bool last = queue == r->course.order.target && group->left == 1;
        if (!(queue->shape->ranks ? start_gang : start_task)(r, group, spec)) {
            block(r, group);
            continue;
        }
        if (last)
            return true;
        const uint32_t held = gw_expected_order_held(&r->course.order, queue);
        const uint64_t tasks = group->batches ? group->batch : 1;
        if (group->batches && --group->batches == 0)
            group->batch = 1;
        gw_expected_order_start(&r->course.order, group, tasks, r->course.now_ns);
        if (!held && queue != r->reserved.queue)
            continue;
        if (held)
            release(r, held);
        else
            unreserve(r);
        r->all = true; /* others may use the room that is left */
        gw_expected_order_unblock(&r->course.order);
    }
    r->all = false;
    gw_array_clear(&r->course.touched);
    return false;
}

/* The task in question. */
struct asked {
    const struct gw_queue *queue;
    uint64_t ahead; /* tasks of the queue before it */
};

static struct gw_expected_start run(const struct gw_sched *sched, struct asked asked,
                                    bool ends_soon)
{
    struct rehearsal r = {.all = true};
    const struct gw_expected_course *course = &r.course;
    gw_expected_course_init(&r.course, sched, asked.queue, asked.ahead, ends_soon);
    hold(&r);
    bool found = false, goes_on = true;
    while (goes_on && !is_over(&r) && !(found = place(&r)))
        goes_on = is_over(&r) || gw_expected_course_go_on(&r.course);
    struct gw_expected_start start = {.at_ns = course->now_ns, .work = course->order.work};
    if (found)
        start.kind = course->unsure ? GW_EXPECTED_EARLIEST : GW_EXPECTED_ABOUT;
    else if (goes_on)
        start.kind = GW_EXPECTED_LATER;
    else
        start.job = course->cause;
    gw_array_deinit(&r.reserved.openings);
    gw_expected_course_deinit(&r.course);
    return start;
}

/* Finds the queue of a task and how many tasks of this queue come before it. */
static bool find(const struct gw_job *job, uint32_t row, struct asked *asked)
{
    const bool live = gw_sched_row_live(job, row);
    if (gw_sched_job_rests(job) || job->calls_of || job->specs.count == 0 ||
        (!live && !gw_sched_range_is_to_come(job, row)))
        return false;
    asked->queue = job->specs.items[live ? job->tasks.spec[row] : 0].queue;
    if (!asked->queue || !asked->queue->shape->slots || asked->queue->shape->alone)
        return false;
    asked->ahead = gw_bits_below(&asked->queue->ready, row);
    if (!live)
        asked->ahead += row - job->tasks.count;
    return !live || gw_bits_test(&asked->queue->ready, row);
}

struct gw_expected_start gw_sched_expected_start(const struct gw_sched *sched,
                                                 const struct gw_job *job, uint32_t row)
{
    struct asked asked;
    if (sched->shutting_down || !find(job, row, &asked))
        return (struct gw_expected_start){.kind = GW_EXPECTED_UNKNOWN};
    struct gw_expected_start start = run(sched, asked, false);
    if (start.kind == GW_EXPECTED_UNKNOWN && start.job) {
        const struct gw_expected_start early = run(sched, asked, true);
        if (early.kind != GW_EXPECTED_UNKNOWN)
            start.kind = GW_EXPECTED_EARLIEST;
        start.at_ns = early.at_ns;
        start.work += early.work;
    }
    if (start.at_ns <= sched->now_ns)
        start.kind = GW_EXPECTED_UNKNOWN;
    return start;
}
