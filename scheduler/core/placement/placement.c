/* Placement of ready tasks on workers.
 *
 * A task goes to the worker with free room that has most of its input bytes, otherwise to the
 * worker with the most free slots. If no slot is free, a short task may queue at a worker behind
 * short tasks of the same resource class, up to a limit (the window). If no task of a resource
 * class fits, the class is blocked until a worker frees room. Tasks that come later in the order
 * may use free slots in the meantime, but may not queue at workers, because a blocked class needs
 * slots to become free.
 *
 * If a gang does not fit, a reservation keeps room for the first such gang (reservation.h). Later
 * tasks may queue at all workers without reserved room.
 *
 * A task that failed goes to a worker other than the one on which it failed, if another has room
 * now. The same applies to a task that its last worker returned because of lack of memory.
 *
 * Only the placement of a gang looks at all workers: gangs are few and need to know all free room.
 */
#include "scheduler/core/placement/placement.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/forecast.h"
#include "scheduler/core/placement/gang_size.h"
#include "scheduler/core/placement/packing.h"
#include "scheduler/core/placement/pipelining.h"
#include "scheduler/core/placement/place_gang.h"
#include "scheduler/core/placement/policy.h"
#include "scheduler/core/placement/reservation.h"
#include "scheduler/core/placement/reservation_guard.h"
#include "scheduler/core/placement/window.h"
#include "scheduler/core/send/outbox.h"

#include <string.h>

/* Inline, because most clusters have no policy, and the placement of a task must stay cheap. */
static inline void review_policy(struct gw_sched *sched)
{
    if (sched->accounts)
        gw_sched_policy_review(sched);
}

/* -- Choice of the worker ------------------------------------------------------------------ */

static void weigh_input(struct gw_sched *sched, uint32_t at, void *arg)
{
    struct gw_choice *choice = arg;
    const struct gw_object *object = &sched->objects.items[at];
    for (uint32_t place = object->holders; place != GW_NO_INDEX;
         place = sched->holders.items[place].next) {
        struct gw_worker *worker = sched->workers.items[sched->holders.items[place].worker];
        if (worker->score_epoch != choice->epoch) {
            if (choice->count == GW_DATA_WORKERS_MAX)
                continue;
            gw_sched_worker_score(worker, choice->epoch, 0);
            choice->workers[choice->count++] = worker;
        }
        gw_sched_worker_score(worker, choice->epoch, worker->score + object->bytes);
    }
}

static void weigh_inputs(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                         struct gw_choice *choice)
{
    choice->count = 0;
    choice->epoch = gw_sched_worker_scores(sched);
    if (job->tasks.deps_at[row] != gw_sched_deps_end(&job->tasks, row))
        gw_sched_object_each_input(sched, job, row, &(struct gw_input_visit){weigh_input, choice});
}

static struct gw_worker *free_worker_of_kind(struct gw_sched *sched, struct gw_choice *choice)
{
    struct gw_worker *best = NULL;
    choice->unaffording = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        struct gw_worker *worker = choice->workers[i];
        if (gw_sched_window_takes(sched, worker, choice) &&
            (!best || worker->score > best->score ||
             (worker->score == best->score && worker->id < best->id)))
            best = worker;
    }
    if (best && (!choice->shape->need || !choice->shape->need->prefer))
        return best;
    if (!choice->shape->need)
        return gw_sched_window_choose(sched, choice);
    struct gw_worker *other =
        gw_sched_need_worker(sched, choice->shape, gw_sched_window_takes, choice);
    return best && (!other || !gw_sched_need_names(choice->shape->need, other)) ? best : other;
}

/* Returns a worker with room. Prefers a free MIG instance if the task can use one, so that whole
 * GPUs stay free. */
static struct gw_worker *free_worker(struct gw_sched *sched, struct gw_choice *choice)
{
    struct gw_worker *worker = NULL;
    choice->instance = sched->instances_free && gw_sched_gpu_likes_instances(choice->shape);
    if (choice->instance)
        worker = free_worker_of_kind(sched, choice);
    choice->instance = false;
    return worker ? worker : free_worker_of_kind(sched, choice);
}

/* Returns a worker with room, but not the one on which the task failed, because the worker may be
 * the cause. If no other worker has room, that worker is used as well. */
static struct gw_worker *free_worker_elsewhere(struct gw_sched *sched, struct gw_choice *choice)
{
    struct gw_worker *worker = free_worker(sched, choice);
    if (worker || !choice->avoided)
        return worker;
    choice->avoided = 0;
    return free_worker(sched, choice);
}

/* Returns how many more tasks may queue in a queue of a worker. */
static uint32_t worker_queue_room(const struct gw_sched *sched, const struct gw_worker_queue *lane,
                                  const struct gw_choice *choice, uint32_t window)
{
    if (!gw_sched_memory_lets(lane->worker) ||
        gw_sched_quarantine_left_ns(sched, lane->worker, lane->shape) > 0 ||
        !gw_sched_memory_admits(lane->worker, choice->bytes, choice->held_back))
        return 0;
    if (choice->bytes)
        window = gw_sched_memory_window(lane->worker, choice->spec, window);
    return gw_sched_worker_queue_room(lane, window);
}

/* Returns a worker at which a short task may queue: one that has inputs of the task, otherwise one
 * with a short queue. */
static struct gw_worker *worker_with_room(struct gw_sched *sched, const struct gw_choice *choice,
                                          struct gw_resource_class *shape, uint32_t window)
{
    struct gw_worker *best = NULL;
    for (uint32_t i = 0; i < choice->count; i++) {
        struct gw_worker *worker = choice->workers[i];
        const struct gw_worker_queue *lane = gw_sched_worker_queue_get(worker, shape);
        if (lane && worker_queue_room(sched, lane, choice, window) > 0 &&
            (!best || worker->score > best->score))
            best = worker;
    }
    if (best)
        return best;
    /* The class lists its queues by length. Queues whose length has reached the window are full, so
     * the search skips their lists. */
    uint32_t tries = 0;
    uint64_t below = (UINT64_C(1) << gw_sched_worker_queue_step(window)) - 1;
    for (uint64_t rooms = shape->rooms & below; rooms; rooms &= rooms - 1) {
        const struct gw_worker_queue *first = shape->room[__builtin_ctzll(rooms)];
        for (struct gw_worker_queue *lane = shape->room[__builtin_ctzll(rooms)];
             tries < GW_WORKER_QUEUES_TRIED_MAX; tries++) {
            if (worker_queue_room(sched, lane, choice, window) > 0)
                return lane->worker;
            gw_sched_worker_queue_turn(lane);
            lane = lane->next;
            if (lane == first)
                break;
        }
    }
    return NULL;
}

/* Reduces the window so that each slot gets only its share of the tasks. Otherwise, if there are
 * few tasks, they would queue behind each other where their inputs are while other slots are idle.
 */
static uint32_t share_of(const struct gw_resource_class *shape, uint32_t window)
{
    uint64_t slots = shape->debits, tasks = (uint64_t)shape->ready + shape->attempts;
    if (tasks >= slots * window)
        return window;
    return gw_sched_worker_queue_step_tasks(
        gw_sched_worker_queue_step((uint32_t)((tasks - 1) / slots)) + 1);
}

/* In: what a placement may do. Out: why it placed nothing. */
struct placing {
    bool may_queue, unaffording; /* queueing is allowed; only memory is missing */
    bool waits;                  /* the limit of unfinished rows of the range is reached */
};

/* -- Ordinary tasks ------------------------------------------------------------------------ */

/* Returns true if the task's last worker is short of memory. Such a worker may accept a task and
 * return it again and again. */
static bool was_given_back(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    const struct gw_worker *worker = NULL;
    if (job->tasks.charges[row].tries > 0)
        worker = gw_sched_worker_find(sched, job->tasks.worker[row]);
    return worker && worker->memory.state != GW_MEMORY_OPEN;
}

static bool place_row(struct gw_sched *sched, struct gw_queue *queue, uint32_t row,
                      struct placing *placing)
{
    struct gw_job *job = queue->job;
    struct gw_resource_class *shape = queue->shape;
    struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    struct gw_choice choice = {
        .shape = shape, .spec = spec, .bytes = gw_sched_memory_expected(spec)};
    choice.held_back = choice.bytes && gw_sched_window_held_back(queue, row);
    if (sched->reserved)
        choice.restricts = gw_sched_reservation_restricts(sched, queue, spec);
    weigh_inputs(sched, job, row, &choice);
    uint32_t window = 1;
    if (!shape->alone)
        window = gw_sched_window(sched, spec);

    bool prefetched = false;
    const struct gw_charges *charges = &job->tasks.charges[row];
    if (sched->workers_ready > 1 &&
        (charges->retries + charges->crashes > 0 || was_given_back(sched, job, row)))
        choice.avoided = job->tasks.worker[row];
    struct gw_worker *worker = free_worker_elsewhere(sched, &choice);
    if (!worker && placing->may_queue && window > 1) {
        worker = worker_with_room(sched, &choice, shape, share_of(shape, window));
        prefetched = true;
    }
    placing->unaffording = !worker && choice.unaffording > 0;
    if (!worker)
        return false;
    uint64_t near_bytes = worker->score_epoch == choice.epoch ? worker->score : 0;
    uint8_t why = prefetched                  ? GW_PLACED_QUEUED
                  : near_bytes                ? GW_PLACED_DATA
                  : shape->need               ? GW_PLACED_NEED
                  : sched->workers_ready == 1 ? GW_PLACED_ONLY
                                              : GW_PLACED_FREE;
    uint32_t slot =
        gw_sched_attempt_place_task(sched, &(struct gw_attempt_new){.job = job,
                                                                    .index = row,
                                                                    .rank = GW_RANK_NONE,
                                                                    .worker = worker,
                                                                    .shape = shape,
                                                                    .prefetched = prefetched,
                                                                    .is_long = window == 1,
                                                                    .why = why,
                                                                    .near_bytes = near_bytes});
    if (prefetched)
        gw_sched_worker_queue_turn(gw_sched_worker_queue_get(worker, shape));
    gw_sched_outbox_assign(sched, slot);
    return true;
}

/* Places the first task of a queue. If the only obstacle is memory, places the first task with
 * inputs instead, because its end may free these inputs. */
static inline bool place_task(struct gw_sched *sched, struct gw_queue *queue,
                              struct placing *placing)
{
    uint32_t row = gw_bits_first(&queue->ready);
    /* A job without edges has no inputs to prefetch. */
    if (queue->job->tasks.edges > 0)
        gw_sched_object_inputs_prefetched(sched, &queue->job->tasks,
                                          gw_bits_near(&queue->ready, row));
    if (place_row(sched, queue, row, placing))
        return true;
    return placing->unaffording && queue->fed.count && gw_bits_first(&queue->fed) != row &&
           place_row(sched, queue, gw_bits_first(&queue->fed), placing);
}

/* Places a task that a running task has submitted. It may use reserved room, even if the first task
 * of its class may not: the gang that holds the reservation may have to wait for the running task.
 */
static bool place_nested(struct gw_sched *sched, struct gw_resource_class *shape,
                         struct placing *placing)
{
    struct gw_queue *queue = sched->reserved ? gw_sched_queue_nested(shape) : NULL;
    return queue && !gw_sched_range_full(queue->job) &&
           place_row(sched, queue, gw_bits_first(&queue->ready), placing);
}

/* -- Gangs --------------------------------------------------------------------------------- */

/* Which workers a gang may use. */
struct search {
    const struct gw_queue *queue;
    uint32_t restricts;   /* the set of reservations whose room this gang may not use */
    bool named;           /* only the workers that the gang prefers by name */
    const uint8_t *ended; /* by slot: attempts that count as ended; NULL: none */
};

/* Selects workers from `packs` for the ranks of a gang, or for as many ranks as it may start with.
 */
static uint32_t pack(const struct gw_sched *sched, struct search search, struct gw_pack *packs,
                     uint32_t count)
{
    const struct gw_resource_class *shape = search.queue->shape;
    if (search.ended) { /* all ranks, or the one task */
        struct gw_resource_class whole = *shape;
        whole.ranks = shape->ranks ? shape->ranks : 1;
        return gw_sched_packing(&whole, packs, count);
    }
    if (search.named || !shape->min_ranks)
        return gw_sched_packing(shape, packs, count);
    struct gw_resource_class now = gw_sched_gang_size_shape(
        shape, gw_sched_gang_size_ranks(sched, search.queue, packs, count));
    return now.ranks ? gw_sched_packing(&now, packs, count) : 0;
}

/* Search for workers that can connect to each other: all workers with room, and those that are left
 * out. */
struct apart {
    const struct gw_pack *all;
    uint32_t count, out_count, packs;
    const struct gw_worker *out[GW_PARTED_OUT_MAX];
};

static bool is_out(const struct apart *apart, const struct gw_worker *worker)
{
    for (uint32_t i = 0; i < apart->out_count; i++)
        if (apart->out[i] == worker)
            return true;
    return false;
}

/* Selects workers without those that are left out. If two of the selected workers could not connect
 * to each other, tries again without the first, then without the second. */
static uint32_t pack_without(struct gw_sched *sched, struct search search, struct apart *apart,
                             struct gw_pack *packs)
{
    const struct gw_worker *pair[2];
    uint32_t count = 0;
    for (uint32_t i = 0; i < apart->count; i++)
        if (!is_out(apart, apart->all[i].worker))
            packs[count++] = apart->all[i];
    uint32_t taken = pack(sched, search, packs, count);
    if (taken == 0 || !gw_sched_parting_among(sched, packs, taken, pair))
        return taken;
    gw_sched_queue_part(search.queue->shape, true);
    for (int i = 0; i < 2; i++) {
        if (apart->out_count == GW_PARTED_OUT_MAX || apart->packs++ == GW_PARTED_PACKS_MAX)
            return 0;
        apart->out[apart->out_count++] = pair[!i];
        taken = pack_without(sched, search, apart, packs);
        apart->out_count--;
        if (taken)
            return taken;
    }
    return 0;
}

/* Selects workers of which no two recently failed to connect to each other. */
static uint32_t pack_apart(struct gw_sched *sched, struct search search, struct gw_pack *packs,
                           uint32_t count)
{
    if (sched->partings.count == 0)
        return pack(sched, search, packs, count);
    struct gw_pack *all = gw_arena_alloc(&sched->step.effects->arena, (count + 1) * sizeof *all);
    GW_MUST_PTR(all);
    memcpy(all, packs, count * sizeof *all);
    struct apart apart = {.all = all, .count = count};
    return pack_without(sched, search, &apart, packs);
}

/* Selects the workers for a gang's ranks from the room that is free now. Returns the number of
 * workers, or 0 if the room is too small. */
static uint32_t find_packs(struct gw_sched *sched, struct search search, struct gw_pack *packs)
{
    const struct gw_resource_class *shape = search.queue->shape;
    uint32_t count = 0, gpus = gw_sched_queue_class_gpus(shape);
    uint32_t home =
        gw_sched_checkpoint_home(sched, search.queue->job, gw_bits_first(&search.queue->ready));
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        uint64_t ranks = search.ended ? gw_sched_forecast_without(sched, worker, shape,
                                                                  search.ended, search.restricts)
                                      : gw_sched_gang_size_ranks_at(sched, worker, shape, false);
        uint32_t most = ranks > 0 ? gw_sched_packing_most(shape, worker) : 0;
        if (ranks > 0 && !search.ended && (worker->reserved & search.restricts)) {
            uint64_t left =
                gw_sched_reservation_guard_leaves(sched, worker, shape, search.restricts);
            ranks = left < ranks ? left : ranks;
        }
        if (ranks > 0 && (!search.named || gw_sched_need_names(shape->need, worker)))
            packs[count++] = (struct gw_pack){
                worker, ranks > UINT32_MAX ? UINT32_MAX : (uint32_t)ranks,
                gpus && ranks >= most && !search.ended && gw_sched_gpu_near(worker, shape, most),
                worker->id == home};
    }
    return pack_apart(sched, search, packs, count);
}

uint32_t gw_sched_placement_room(struct gw_sched *sched, const struct gw_queue *queue,
                                 const uint8_t *ended, struct gw_reserved_rank *reserved_ranks)
{
    struct gw_pack *packs =
        gw_arena_alloc(&sched->step.effects->arena, (sched->workers.count + 1) * sizeof *packs);
    GW_MUST_PTR(packs);
    const uint32_t held = sched->reserved & GW_RESERVATIONS_HELD;
    const uint32_t count = find_packs(sched, (struct search){queue, held, false, ended}, packs);
    for (uint32_t i = 0; i < count; i++)
        reserved_ranks[i] = (struct gw_reserved_rank){packs[i].worker, packs[i].ranks, true};
    return count;
}

static bool place_gang(struct gw_sched *sched, struct gw_queue *queue)
{
    struct gw_resource_class *shape = queue->shape;
    const struct gw_spec *spec =
        &queue->job->specs.items[queue->job->tasks.spec[gw_bits_first(&queue->ready)]];
    const uint32_t restricts =
        sched->reserved ? gw_sched_reservation_restricts(sched, queue, spec) : 0;
    gw_sched_queue_part(shape, false);
    uint64_t least = gw_sched_gang_size_least(shape), slots = least * shape->slots;
    /* Quick check: without enough free slots or GPUs in total, no worker needs to be examined. */
    if ((restricts == sched->reserved ? sched->slots_open : sched->slots_free) < slots ||
        (!shape->gpu_fraction && sched->gpus_free < least * gw_sched_queue_class_gpus(shape)))
        return false;
    struct gw_pack *packs =
        gw_arena_alloc(&sched->step.effects->arena, (sched->workers.count + 1) * sizeof *packs);
    GW_MUST_PTR(packs);
    uint32_t taken = 0;
    if (shape->need && shape->need->prefer)
        taken = find_packs(sched, (struct search){queue, restricts, true, NULL}, packs);
    if (taken == 0)
        taken = find_packs(sched, (struct search){queue, restricts, false, NULL}, packs);
    if (taken == 0)
        return false;
    struct gw_placed_rank *placed_ranks =
        gw_arena_alloc(&sched->step.effects->arena, shape->ranks * sizeof *placed_ranks);
    GW_MUST_PTR(placed_ranks);
    uint32_t rank = 0, gpus = gw_sched_queue_class_gpus(shape);
    uint32_t *numbers =
        gw_arena_alloc(&sched->step.effects->arena, (shape->ranks * gpus + 1) * sizeof *numbers);
    GW_MUST_PTR(numbers);
    for (uint32_t i = 0; i < taken; i++) {
        if (gpus)
            gw_sched_gpu_pick(packs[i].worker, shape, packs[i].ranks, numbers + rank * gpus);
        for (uint32_t k = 0; k < packs[i].ranks; k++, rank++)
            placed_ranks[rank] =
                (struct gw_placed_rank){packs[i].worker, gpus ? numbers + rank * gpus : NULL};
    }
    gw_sched_reservation_on_gang(sched, queue, rank);
    gw_sched_place_gang(sched, queue, placed_ranks, rank);
    return true;
}

/* -- The order ----------------------------------------------------------------------------- */

/* The resource class whose first task is placed next. */
struct turn {
    struct gw_resource_class *shape; /* NULL: nothing is left to place */
    bool overtakes;                  /* an earlier task could run here, but does not fit now */
    bool behind;                     /* an earlier ordinary task (no gang) could run here */
};

static const struct gw_queue *first_of(const struct gw_queue *a, const struct gw_queue *b)
{
    return !a || gw_sched_queue_before(b, a) ? b : a;
}

/* Returns the resource class that is not blocked and whose first task comes first in the order. A
 * blocked gang counts as overtaken only if no gang has a reservation: otherwise the slots for that
 * gang are already kept. */
static struct turn next_turn(struct gw_sched *sched)
{
    review_policy(sched);
    struct turn turn = {0};
    const struct gw_queue *best_top = NULL, *blocked_top = NULL, *blocked_task = NULL;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        struct gw_resource_class *shape = sched->shapes.items[i];
        if (!shape || shape->groups.count == 0)
            continue;
        const struct gw_queue *top = gw_sched_queue_top(shape);
        if (!top)
            continue;
        if (gw_sched_queue_over_quota(top))
            continue;
        if (!shape->blocked) {
            if (!best_top || gw_sched_queue_before(top, best_top))
                best_top = top;
        } else if (shape->could && shape->slots) { /* a task without a slot gains by no free slot */
            if (shape->ranks == 0)
                blocked_task = first_of(blocked_task, top);
            if (shape->ranks == 0 || !sched->reserved)
                blocked_top = first_of(blocked_top, top);
        }
    }
    if (!best_top)
        return turn;
    turn.shape = best_top->shape;
    turn.overtakes = blocked_top && gw_sched_queue_before(blocked_top, best_top);
    turn.behind = blocked_task && gw_sched_queue_before(blocked_task, best_top);
    return turn;
}

static void block(struct gw_sched *sched, struct gw_queue *queue, const struct turn *turn)
{
    struct gw_resource_class *shape = queue->shape;
    gw_sched_queue_block(shape);
    /* A reservation does not help a gang that lacks only pairs of workers that can connect. */
    if (gw_sched_ranks_could(sched, shape) && !(shape->ranks && shape->parted))
        gw_sched_reservation_on_blocked(sched, queue, turn->behind);
}

static bool only_shape(const struct gw_sched *sched, const struct gw_resource_class *shape)
{
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i] && sched->shapes.items[i] != shape &&
            sched->shapes.items[i]->groups.count > 0)
            return false;
    return true;
}

/* Places tasks of the class whose turn it is: as many as possible if no other class has ready
 * tasks, otherwise one. */
static void place_turn(struct gw_sched *sched, const struct turn *turn)
{
    struct gw_resource_class *shape = turn->shape;
    bool alone = only_shape(sched, shape);
    for (struct gw_queue *queue; (queue = gw_sched_queue_top(shape));) {
        if (gw_sched_queue_over_quota(queue))
            break;
        bool full = gw_sched_range_full(queue->job), placed = false;
        struct placing placing = {.may_queue = !turn->overtakes, .waits = full};
        if (!full)
            placed = shape->ranks ? place_gang(sched, queue) : place_task(sched, queue, &placing);
        if (!placed && shape->ranks == 0)
            placed = place_nested(sched, shape, &(struct placing){false});
        if (!placed && !((placing.unaffording || placing.waits) && gw_sched_queue_park(queue)))
            block(sched, queue, turn);
        if (!placed || !alone)
            break;
        review_policy(sched);
    }
}

/* Places a task for which other work was preempted, if its room is free: it may not be the first of
 * its class. */
static void place_held(struct gw_sched *sched, struct gw_queue *queue)
{
    if (gw_sched_queue_over_quota(queue) || queue->heap_at == GW_NO_INDEX ||
        gw_sched_range_full(queue->job))
        return;
    if (queue->shape->ranks)
        (void)place_gang(sched, queue);
    else
        (void)place_task(sched, queue, &(struct placing){false});
}

void gw_sched_placement(struct gw_sched *sched)
{
    review_policy(sched);
    gw_sched_reservation_review(sched);
    if (sched->workers_ready == 0 || sched->shutting_down)
        return;
    GW_EACH_RESERVATION (number, sched->freed ? sched->reserved & GW_RESERVATIONS_HELD : 0)
        place_held(sched, sched->reservations[number].queue);
    do {
        if (sched->freed)
            gw_sched_queues_unblock(sched);
        for (struct turn turn; (turn = next_turn(sched)).shape;)
            place_turn(sched, &turn);
    } while (sched->freed); /* repeat if a reservation ended or moved */
    gw_sched_pipelining(sched);
}
