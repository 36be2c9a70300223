/* The reservation for a waiting gang.
 *
 * A gang that could run but does not fit would wait forever, because smaller tasks take every slot
 * that becomes free. Therefore the first such gang gets a reservation: at the workers that will
 * have room soonest, free slots stay free until all ranks fit. If room becomes free sooner at
 * another worker, the reservation of a rank moves there.
 *
 * Invariants: at most one gang has such a reservation, and it covers all ranks with which the gang
 * may start. It is made only at workers without room that is held for preemptions. A reservation
 * takes nothing from running tasks and uses no resources. It only limits what others may use. No
 * task queues at a worker that still has too little free room for the reserved ranks, and queued
 * tasks are asked back. Their slots count as free only after the worker has returned the tasks. */
#include "scheduler/core/placement/reservation.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/forecast.h"
#include "scheduler/core/placement/gang_size.h"
#include "scheduler/core/placement/packing.h"
#include "scheduler/core/placement/reservation_guard.h"
#include "scheduler/core/placement/window.h"
#include "scheduler/core/placement/work_stealing.h"

#include <assert.h>
#include <stdlib.h>

/* The least number of openings to choose from: a base, and so many for each rank or node. */
enum { OPENINGS_MIN = 256, OPENINGS_EACH = 4 };

/* -- Owner of the reservation -------------------------------------------------------------- */

static bool still_holds(struct gw_sched *sched, uint32_t number)
{
    const struct gw_reservation *reservation = &sched->reservations[number];
    const bool held = number != GW_RESERVATION_OF_GANG;
    struct gw_job *job = gw_sched_job_find(sched, reservation->job);
    if (!job || job->compacted || gw_sched_job_rests(job) ||
        job->tasks.state[reservation->index] != GW_TASK_READY ||
        (reservation->workers_epoch != sched->workers_epoch && !held) || (held && !sched->accounts))
        return false;
    gw_sched_reservation_requeue(sched, number,
                                 gw_sched_task_ready_queue(sched, job, reservation->index));
    if (gw_sched_queue_over_quota(reservation->queue) && !held)
        return false;
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        const struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        if ((reserved->let && !gw_sched_memory_lets(reserved->worker)) ||
            gw_sched_quarantine_left_ns(sched, reserved->worker, reservation->shape) > 0)
            return false;
    }
    return true;
}

void gw_sched_reservation_review(struct gw_sched *sched)
{
    gw_sched_reservation_unsee(sched);
    GW_EACH_RESERVATION (number, sched->reserved)
        if (!still_holds(sched, number))
            gw_sched_reservation_clear(sched, number);
}

/* Tasks that running tasks wait for come first, because the running tasks free no slots before. */
static bool comes_before(const struct gw_queue *a, const struct gw_queue *b)
{
    bool nested = a->job->depth > 0, other = b->job->depth > 0;
    return nested != other ? nested : gw_sched_queue_before(a, b);
}

/* -- Choice of the workers ----------------------------------------------------------------- */

static int by_opening(const void *a, const void *b)
{
    const struct gw_opening *x = a, *y = b;
    if (x->known != y->known)
        return x->known ? -1 : 1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->worker->slot < y->worker->slot ? -1 : x->worker->slot > y->worker->slot;
}

static int by_worker(const void *a, const void *b)
{
    const struct gw_opening *x = a, *y = b;
    return x->worker->slot < y->worker->slot ? -1 : x->worker->slot > y->worker->slot;
}

static bool may_reserve(const struct gw_worker *worker)
{
    return worker && worker->state == GW_WORKER_READY && !worker->drained &&
           !(worker->reserved & GW_RESERVATIONS_HELD);
}

/* Fills in, for each entry of the rank layout, the worker that will have room for all ranks of the
 * entry soonest. Returns the number of entries, or 0 if an entry will never have room. */
static uint32_t choose_places(struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_reserved_rank *reserved_ranks)
{
    const struct gw_places *places = gw_sched_places_of(shape);
    struct gw_opening best[GW_PAIRS_MAX] = {0};
    struct gw_opening *openings =
        gw_arena_alloc(&sched->step.effects->arena, shape->ranks * sizeof *openings);
    GW_MUST_PTR(openings);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!may_reserve(worker))
            continue;
        uint32_t at = gw_sched_places_at(places, worker);
        uint32_t most = at == GW_NO_INDEX ? 0 : places->items[at].ranks;
        if (most == 0 || gw_sched_forecast(sched, worker, shape, most, openings) < most)
            continue;
        if (!best[at].worker || by_opening(&openings[most - 1], &best[at]) < 0)
            best[at] = openings[most - 1];
    }
    for (uint32_t i = 0; i < places->count; i++) {
        if (!best[i].worker)
            return 0;
        reserved_ranks[i] = (struct gw_reserved_rank){best[i].worker, places->items[i].ranks,
                                                      gw_sched_memory_lets(best[i].worker)};
    }
    return places->count;
}

/* Chooses the workers that will have room soonest, one opening for each rank or each node. Returns
 * the number of workers, or 0 if not all ranks will ever have room. In a large cluster only a part
 * is examined, beginning with worker `from`, until there are several openings for each rank. The
 * reservation moves later if room becomes free elsewhere. */
static uint32_t choose(struct gw_sched *sched, const struct gw_resource_class *shape, size_t from,
                       struct gw_reserved_rank *reserved_ranks)
{
    GW_ARRAY(struct gw_opening) openings = {0};
    if (gw_sched_places_of(shape))
        return choose_places(sched, shape, reserved_ranks);
    uint32_t each = shape->per_node ? shape->per_node : 1;
    uint32_t most = shape->per_node ? shape->per_node : shape->ranks;
    uint32_t count = 0, wanted = shape->ranks / each;
    size_t enough = OPENINGS_MIN + OPENINGS_EACH * (size_t)wanted, workers = sched->workers.count;
    for (size_t i = 0; i < workers && openings.count < enough; i++) {
        struct gw_worker *worker = sched->workers.items[(from + i) % workers];
        if (!may_reserve(worker))
            continue;
        GW_MUST(gw_array_reserve(&openings, most));
        struct gw_opening *first = openings.items + openings.count;
        uint32_t found = gw_sched_forecast(sched, worker, shape, most, first);
        /* With ranks_per_node, a worker counts only if all ranks of a node fit there. */
        if (shape->per_node) {
            found = found == most;
            if (found)
                *first = first[most - 1];
        }
        openings.count += found;
    }
    if (openings.count >= wanted) {
        qsort(openings.items, openings.count, sizeof *openings.items, by_opening);
        qsort(openings.items, wanted, sizeof *openings.items, by_worker);
        for (uint32_t i = 0; i < wanted; i++) {
            struct gw_worker *worker = openings.items[i].worker;
            if (count == 0 || reserved_ranks[count - 1].worker != worker)
                reserved_ranks[count++] =
                    (struct gw_reserved_rank){worker, 0, gw_sched_memory_lets(worker)};
            reserved_ranks[count - 1].ranks += each;
        }
    }
    gw_array_deinit(&openings);
    return count;
}

static struct gw_reservation *of_gang(struct gw_sched *sched)
{
    return &sched->reservations[GW_RESERVATION_OF_GANG];
}

/* Reserves these ranks for the first task of a queue, in place of those of the first waiting gang.
 */
static void reserve(struct gw_sched *sched, uint32_t number, struct gw_queue *queue,
                    const struct gw_reserved_rank *reserved_ranks, uint32_t count)
{
    if (of_gang(sched)->job)
        gw_sched_reservation_clear(sched, GW_RESERVATION_OF_GANG);
    gw_sched_worker_queue_reserve_for(sched, number, queue, reserved_ranks, count);
    for (uint32_t i = 0; i < count; i++)
        if (gw_sched_worker_drains(reserved_ranks[i].worker))
            gw_sched_work_stealing_recall_queued(sched, reserved_ranks[i].worker);
}

/* Makes the reservation for the first gang of a queue. If this gang would never have room for all
 * of its ranks, the present reservation stays. */
static void make(struct gw_sched *sched, struct gw_queue *queue)
{
    const struct gw_resource_class *shape = queue->shape;
    struct gw_reserved_rank *reserved_ranks =
        gw_arena_alloc(&sched->step.effects->arena, shape->ranks * sizeof *reserved_ranks);
    GW_MUST_PTR(reserved_ranks);
    uint32_t count = choose(sched, shape, queue->job->id, reserved_ranks);
    uint32_t most = count == 0 && shape->min_ranks ? gw_sched_gang_size_most(sched, shape) : 0;
    if (most) {
        struct gw_resource_class smaller = gw_sched_gang_size_shape(shape, most);
        count = choose(sched, &smaller, queue->job->id, reserved_ranks);
    }
    if (count)
        reserve(sched, GW_RESERVATION_OF_GANG, queue, reserved_ranks, count);
}

void gw_sched_reservation_hold(struct gw_sched *sched, uint32_t number, struct gw_queue *queue,
                               const struct gw_reserved_rank *reserved_ranks, uint32_t count)
{
    reserve(sched, number, queue, reserved_ranks, count);
}

/* Returns how many ranks of a gang have room at a worker now, besides room that is held. */
static uint64_t ranks_now(const struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_resource_class *shape)
{
    const uint64_t ranks = gw_sched_gang_size_ranks_at(sched, worker, shape, false);
    const uint64_t left =
        gw_sched_reservation_guard_leaves(sched, worker, shape, GW_RESERVATIONS_HELD);
    return left < ranks ? left : ranks;
}

/* Returns a worker with reserved ranks that has not enough free room for them, or NULL. With a rank
 * layout, only a worker of the same entry as `of` is returned. */
static struct gw_worker *wanting(struct gw_sched *sched, const struct gw_worker *of)
{
    const struct gw_reservation *reservation = of_gang(sched);
    const struct gw_places *places = gw_sched_places_of(reservation->shape);
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        const struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        if (ranks_now(sched, reserved->worker, reservation->shape) < reserved->ranks &&
            (!places ||
             gw_sched_places_at(places, reserved->worker) == gw_sched_places_at(places, of)))
            return reserved->worker;
    }
    return NULL;
}

/* Moves reserved ranks to workers where unreserved room became free. If the ranks of a node or of a
 * rank layout must stay together, all workers are chosen again instead. */
static void move(struct gw_sched *sched, struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    struct gw_worker *from, *to;
    bool whole = shape->per_node || gw_sched_places_of(shape);
    while ((to = gw_sched_window_most_free(sched, shape)) && (from = wanting(sched, to))) {
        uint64_t ranks = ranks_now(sched, to, shape);
        if (whole && ranks >= gw_sched_packing_most(shape, to) && !to->reserved)
            make(sched, queue);
        if (whole || ranks <= to->reserved_ranks[GW_RESERVATION_OF_GANG])
            return;
        gw_sched_reservation_move(sched, from, to);
    }
}

void gw_sched_reservation_on_blocked(struct gw_sched *sched, struct gw_queue *queue, bool behind)
{
    const struct gw_reservation *reservation = of_gang(sched);
    if (reservation->job && reservation->queue == queue) {
        move(sched, queue);
        return;
    }
    if (queue->shape->ranks > 0) {
        if (!behind && (!reservation->job || comes_before(queue, reservation->queue)))
            make(sched, queue);
    } else if (reservation->job && queue->job->depth == 0 && queue->shape->slots &&
               gw_sched_queue_before(queue, reservation->queue)) {
        /* A task without a slot gains nothing by this, and next_turn does not count it among the
         * blocked tasks: the gang would make its reservation again, without end. */
        gw_sched_reservation_clear(sched, GW_RESERVATION_OF_GANG);
    }
}

/* -- What other tasks may use -------------------------------------------------------------- */

uint64_t gw_sched_reservation_start(const struct gw_sched *sched, uint32_t number,
                                    uint64_t *attempt)
{
    const struct gw_reservation *reservation = &sched->reservations[number];
    struct gw_opening last = {.known = true};
    const struct gw_job *job = gw_sched_job_find(sched, reservation->job);
    const struct gw_resource_class *shape =
        job->specs.items[job->tasks.spec[reservation->index]].shape;
    struct gw_opening *openings = malloc((shape->ranks + 1) * sizeof *openings);
    uint32_t ranks = 0;
    GW_MUST_PTR(openings);
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        const struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        uint32_t found =
            gw_sched_forecast(sched, reserved->worker, shape, reserved->ranks, openings);
        struct gw_opening opening = {.known = false, .at_ns = UINT64_MAX};
        if (found == reserved->ranks)
            opening = openings[found - 1];
        if (!attempt && !opening.known) { /* the others change nothing */
            last.known = false;
            break;
        }
        if (last.known != opening.known ? last.known : opening.at_ns > last.at_ns)
            last = opening;
        ranks += reserved->ranks;
    }
    free(openings);
    uint64_t waits_ns = gw_sched_gang_size_start(sched, job, reservation->index, ranks);
    if (last.known && last.at_ns < waits_ns)
        last = (struct gw_opening){.at_ns = waits_ns, .known = true};
    if (attempt)
        *attempt = last.attempt;
    return last.known ? last.at_ns : UINT64_MAX;
}

/* -- Consistency check --------------------------------------------------------------------- */

static void check_one(const struct gw_sched *sched, uint32_t number)
{
    const struct gw_reservation *reservation = &sched->reservations[number];
    const struct gw_job *job = gw_sched_job_find(sched, reservation->job);
    uint64_t ranks = 0;
    assert((sched->reserved >> number & 1) == (reservation->job != 0));
    assert(reservation->job || reservation->reserved_ranks.count == 0);
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        const struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        assert(reserved->ranks == reserved->worker->reserved_ranks[number]);
        ranks += reserved->ranks;
    }
    if (!reservation->job || sched->shutting_down)
        return;
    assert(job && job->tasks.state[reservation->index] == GW_TASK_READY);
    const struct gw_resource_class *shape =
        job->specs.items[job->tasks.spec[reservation->index]].shape;
    assert(shape->ranks > 0 || (number != GW_RESERVATION_OF_GANG && ranks == 1));
    assert(ranks <= (shape->ranks ? shape->ranks : 1) && ranks >= gw_sched_gang_size_least(shape));
    assert(reservation->slots == shape->slots);
}

void gw_sched_reservation_check(const struct gw_sched *sched)
{
    size_t places = 0, counted = 0;
    for (uint32_t number = 0; number < GW_RESERVATIONS; number++) {
        check_one(sched, number);
        places += sched->reservations[number].reserved_ranks.count;
    }
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        uint32_t slots = 0;
        for (uint32_t number = 0; worker && number < GW_RESERVATIONS; number++) {
            const uint32_t ranks = worker->reserved_ranks[number];
            assert((worker->reserved >> number & 1) == (ranks > 0));
            slots += ranks * sched->reservations[number].slots;
            counted += ranks > 0;
        }
        assert(!worker || (slots == worker->reserved_slots &&
                           (!worker->reserved || worker->state == GW_WORKER_READY)));
    }
    assert(places == counted);
}

/* Returns true if a task comes first, or is the gang with the reservation. */
static bool comes_first(const struct gw_reservation *reservation, const struct gw_queue *queue)
{
    return queue == reservation->queue || gw_sched_queue_before(queue, reservation->queue);
}

/* The slots or GPUs of so many ranks. */
static uint64_t size_of(const struct gw_resource_class *shape, uint32_t ranks)
{
    const uint32_t gpus = gw_sched_queue_class_gpus(shape);
    return (uint64_t)ranks * (gpus > shape->slots ? gpus : shape->slots);
}

static bool may_overtake(const struct gw_reservation *reservation, const struct gw_queue *queue)
{
    const struct gw_queue *first = reservation->queue;
    return queue->shape->ranks && queue->priority == first->priority &&
           queue->job->uid == first->job->uid &&
           reservation->overtaken + size_of(queue->shape, queue->shape->ranks) <=
               size_of(first->shape, first->shape->ranks);
}

void gw_sched_reservation_on_gang(struct gw_sched *sched, const struct gw_queue *queue,
                                  uint32_t ranks)
{
    if (of_gang(sched)->job && queue->job->depth == 0 && !comes_first(of_gang(sched), queue))
        gw_sched_reservation_overtake(sched, size_of(queue->shape, ranks));
}

/* Returns true if a task may use the room of the first waiting gang. */
static bool passes(struct gw_sched *sched, const struct gw_queue *queue,
                   const struct gw_msg_spec *spec)
{
    const struct gw_reservation *reservation = of_gang(sched);
    if (comes_first(reservation, queue))
        return true;
    const bool overtakes = may_overtake(reservation, queue);
    if (!spec->time_limit_ns && !overtakes)
        return false;
    if (!reservation->seen)
        gw_sched_reservation_see(sched,
                                 gw_sched_reservation_start(sched, GW_RESERVATION_OF_GANG, NULL));
    if (overtakes && reservation->start_ns == UINT64_MAX)
        return true;
    if (!spec->time_limit_ns)
        return false;
    uint64_t grace_ns = spec->grace_ns ? spec->grace_ns : GW_GRACE_NS;
    if (reservation->start_ns == UINT64_MAX || reservation->start_ns < sched->now_ns)
        return false;
    uint64_t left_ns = reservation->start_ns - sched->now_ns;
    return spec->time_limit_ns <= left_ns && grace_ns <= left_ns - spec->time_limit_ns;
}

uint32_t gw_sched_reservation_restricts(struct gw_sched *sched, const struct gw_queue *queue,
                                        const struct gw_spec *spec)
{
    uint32_t restricts = sched->reserved;
    if (queue->job->depth > 0)
        return 0;
    GW_EACH_RESERVATION (number, sched->reserved & GW_RESERVATIONS_HELD)
        if (sched->reservations[number].queue == queue)
            return restricts & GW_RESERVATIONS_HELD & ~(1U << number);
    if (of_gang(sched)->job && passes(sched, queue, &spec->message))
        restricts &= GW_RESERVATIONS_HELD;
    return restricts;
}
