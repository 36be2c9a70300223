/* Worker queues. Variables named `lane` are worker queues.
 *
 * Invariants: a worker queue has at most as many debits as attempts. Every long attempt (with an
 * unknown or long run time, of a gang, or with GPUs) has a debit of its own. The short attempts
 * share the remaining debits and queue behind each other. If a short attempt turns out to be long,
 * those behind it may have no debit, until the long one ends or they are taken back. The free slots
 * and memory of a worker are its total less the debits of all its worker queues. A debit that only
 * pipelined attempts hold is idle. It is given back as soon as another task needs it, see
 * pipelining.c.
 *
 * The slots of an attempt that waits for other tasks (blocked) are yielded: its debit stays, but
 * without slots. When the attempt continues, it takes the slots again, even if none is free. Then
 * the worker is overdrawn and has nothing free, and slots that are given back first cover this. A
 * worker may also be overdrawn by adopted attempts before it is ready. */
#include "scheduler/core/model/workers/worker_queue.h"

#include "scheduler/core/model/workers/need.h"

#include <assert.h>
#include <stdlib.h>

struct gw_worker_queue *gw_sched_worker_queue_get(const struct gw_worker *worker,
                                                  const struct gw_resource_class *shape)
{
    return shape->id < worker->queue_count ? worker->queues[shape->id] : NULL;
}

struct gw_worker_queue *gw_sched_worker_queue_for(struct gw_worker *worker,
                                                  struct gw_resource_class *shape)
{
    if (shape->id >= worker->queue_count) {
        uint32_t count = shape->id + 8;
        worker->queues = realloc(worker->queues, count * sizeof *worker->queues);
        GW_MUST_PTR(worker->queues);
        for (uint32_t i = worker->queue_count; i < count; i++)
            worker->queues[i] = NULL;
        worker->queue_count = count;
    }
    struct gw_worker_queue **lane = &worker->queues[shape->id];
    if (!*lane) {
        *lane = calloc(1, sizeof **lane);
        GW_MUST_PTR(*lane);
        (*lane)->worker = worker;
        (*lane)->shape = shape;
    }
    return *lane;
}

/* -- Workers by free slots -------------------------------------------------------------------- */

void gw_sched_worker_queue_link(struct gw_sched *sched, struct gw_worker *worker)
{
    uint32_t open = gw_sched_worker_open(worker);
    while (sched->by_free.count <= open)
        GW_MUST(gw_array_push(&sched->by_free, NULL));
    struct gw_worker **head = &sched->by_free.items[open];
    worker->prev = NULL;
    worker->next = *head;
    if (*head)
        (*head)->prev = worker;
    *head = worker;
    sched->slots_open += open;
    if (open > sched->free_max)
        sched->free_max = open;
}

void gw_sched_worker_queue_unlink(struct gw_sched *sched, struct gw_worker *worker)
{
    sched->slots_open -= gw_sched_worker_open(worker);
    if (worker->prev)
        worker->prev->next = worker->next;
    else
        sched->by_free.items[gw_sched_worker_open(worker)] = worker->next;
    if (worker->next)
        worker->next->prev = worker->prev;
    worker->prev = worker->next = NULL;
}

static uint32_t debit_slots(const struct gw_worker_queue *lane)
{
    return lane->shape->alone ? lane->worker->slots : lane->shape->slots;
}

static void take(struct gw_sched *sched, struct gw_worker *worker, uint32_t slots, uint64_t memory)
{
    uint32_t free_slots = slots < worker->slots_free ? slots : worker->slots_free;
    uint64_t free_memory = memory < worker->memory_free ? memory : worker->memory_free;
    const bool counts = worker->state == GW_WORKER_READY;
    if (counts)
        gw_sched_worker_queue_unlink(sched, worker);
    worker->slots_free -= free_slots;
    worker->slots_over += slots - free_slots;
    worker->memory_free -= free_memory;
    worker->memory_over += memory - free_memory;
    if (!counts)
        return;
    sched->slots_free -= free_slots;
    gw_sched_worker_queue_link(sched, worker);
}

static void give(struct gw_sched *sched, struct gw_worker *worker, uint32_t slots, uint64_t memory)
{
    uint32_t owed_slots = slots < worker->slots_over ? slots : worker->slots_over;
    uint64_t owed_memory = memory < worker->memory_over ? memory : worker->memory_over;
    const bool counts = worker->state == GW_WORKER_READY;
    if (counts)
        gw_sched_worker_queue_unlink(sched, worker);
    worker->slots_over -= owed_slots;
    worker->slots_free += slots - owed_slots;
    worker->memory_over -= owed_memory;
    worker->memory_free += memory - owed_memory;
    assert(worker->slots_free <= worker->slots && worker->memory_free <= worker->memory_bytes);
    if (!counts)
        return;
    sched->slots_free += slots - owed_slots;
    gw_sched_worker_queue_link(sched, worker);
    sched->freed = true;
}

void gw_sched_worker_queue_debit(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    take(sched, lane->worker, debit_slots(lane), lane->shape->memory_bytes);
    if (lane->shape->need)
        gw_sched_need_take(lane->worker, lane->shape->need);
    lane->debits++;
    lane->shape->debits++;
}

static void credit(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    give(sched, lane->worker, debit_slots(lane), lane->shape->memory_bytes);
    if (lane->shape->need)
        gw_sched_need_give(lane->worker, lane->shape->need);
    lane->debits--;
    lane->shape->debits--;
}

/* -- Rings of worker queues with room --------------------------------------------------------- */

uint32_t gw_sched_worker_queue_step(uint32_t tasks)
{
    if (tasks < 4)
        return tasks;
    uint32_t octave = 31 - (uint32_t)__builtin_clz(tasks);
    uint32_t step = 4 * (octave - 1) + (tasks >> (octave - 2) & 3);
    return step < GW_WORKER_QUEUE_LOADS ? step : GW_WORKER_QUEUE_LOADS - 1;
}

uint32_t gw_sched_worker_queue_step_tasks(uint32_t step)
{
    return step < 4 ? step : (4 + step % 4) << (step / 4 - 1);
}

uint32_t gw_sched_worker_queue_load(const struct gw_worker_queue *lane)
{
    return gw_sched_worker_queue_step((lane->attempts - lane->longs) /
                                      (lane->debits - lane->longs));
}

static void room_remove(struct gw_worker_queue *lane)
{
    struct gw_resource_class *shape = lane->shape;
    struct gw_worker_queue **first = &shape->room[lane->load];
    if (!lane->next)
        return;
    if (lane->next == lane) {
        *first = NULL;
        shape->rooms &= ~(UINT64_C(1) << lane->load);
    } else if (*first == lane) {
        *first = lane->next;
    }
    lane->prev->next = lane->next;
    lane->next->prev = lane->prev;
    lane->prev = lane->next = NULL;
}

/* Moves a worker queue with room to the ring of its load. If the ring changes, it becomes the first
 * of the new ring. */
static void room_update(struct gw_worker_queue *lane)
{
    struct gw_resource_class *shape = lane->shape;
    if (lane->debits == lane->longs) {
        room_remove(lane);
        return;
    }
    uint32_t load = gw_sched_worker_queue_load(lane);
    if (lane->next && lane->load == load)
        return;
    room_remove(lane);
    struct gw_worker_queue **first = &shape->room[load];
    lane->load = load;
    if (*first) {
        lane->next = *first;
        lane->prev = (*first)->prev;
        lane->prev->next = lane->next->prev = lane;
    } else {
        lane->prev = lane->next = lane;
    }
    *first = lane;
    shape->rooms |= UINT64_C(1) << load;
}

static void room_update_first(struct gw_worker_queue *lane)
{
    room_update(lane);
    if (!lane->next || lane->shape->room[lane->load] == lane)
        return;
    room_remove(lane);
    room_update(lane);
}

/* Adds a worker queue to the ring `queued` of its class if it has more attempts than debits, or
 * removes it. */
static void queued_update(struct gw_worker_queue *lane)
{
    struct gw_resource_class *shape = lane->shape;
    bool in = lane->queued_next != NULL, wanted = lane->attempts > lane->debits;
    if (wanted == in)
        return;
    if (!wanted) {
        if (shape->queued == lane)
            shape->queued = lane->queued_next == lane ? NULL : lane->queued_next;
        lane->queued_prev->queued_next = lane->queued_next;
        lane->queued_next->queued_prev = lane->queued_prev;
        lane->queued_prev = lane->queued_next = NULL;
    } else if (shape->queued) { /* append at the end of the ring */
        lane->queued_next = shape->queued;
        lane->queued_prev = shape->queued->queued_prev;
        lane->queued_prev->queued_next = lane->queued_next->queued_prev = lane;
    } else {
        shape->queued = lane->queued_prev = lane->queued_next = lane;
    }
}

/* Adds a worker queue to the ring of idle ones if it has an unused debit, or removes it. */
static void idle_update(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    bool in = lane->idle_next != NULL, wanted = gw_sched_worker_queue_idle(lane) > 0;
    if (wanted == in)
        return;
    if (!wanted) {
        if (sched->idle_queues == lane)
            sched->idle_queues = lane->idle_next == lane ? NULL : lane->idle_next;
        lane->idle_prev->idle_next = lane->idle_next;
        lane->idle_next->idle_prev = lane->idle_prev;
        lane->idle_prev = lane->idle_next = NULL;
    } else if (sched->idle_queues) { /* insert at the begin of the ring */
        lane->idle_next = sched->idle_queues;
        lane->idle_prev = sched->idle_queues->idle_prev;
        lane->idle_prev->idle_next = lane->idle_next->idle_prev = lane;
        sched->idle_queues = lane;
    } else {
        sched->idle_queues = lane->idle_prev = lane->idle_next = lane;
    }
    lane->asked = false;
}

void gw_sched_worker_queue_completed(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    assert(lane->pipelined > 0);
    lane->pipelined--;
    idle_update(sched, lane);
}

void gw_sched_worker_queue_rings_update(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    room_update(lane);
    queued_update(lane);
    idle_update(sched, lane);
}

void gw_sched_worker_queue_turn(struct gw_worker_queue *lane)
{
    if (lane->next && lane->shape->room[lane->load] == lane)
        lane->shape->room[lane->load] = lane->next;
}

uint32_t gw_sched_worker_queue_room(const struct gw_worker_queue *lane, uint32_t window)
{
    if (gw_sched_worker_drains(lane->worker))
        return 0;
    uint64_t most = (uint64_t)(lane->debits - lane->longs) * window;
    uint32_t shorts = lane->attempts - lane->longs;
    return shorts < most ? (uint32_t)(most - shorts) : 0;
}

void gw_sched_worker_queue_enter(struct gw_sched *sched, struct gw_worker_queue *lane,
                                 const struct gw_attempt *attempt, const struct gw_attempt_new *how)
{
    const bool prefetched = how->prefetched;
    lane->attempts++;
    lane->barren = false;
    lane->shape->attempts++;
    assert(prefetched || how->adopted ||
           (lane->worker->slots_free >= debit_slots(lane) &&
            lane->worker->memory_free >= lane->shape->memory_bytes));
    if (!prefetched)
        gw_sched_worker_queue_debit(sched, lane);
    if (attempt->is_long)
        lane->longs++;
    if (attempt->pipelined) {
        lane->pipelined++;
        lane->asked = false;
    }
    if (!attempt->is_long && !prefetched)
        room_update_first(lane);
    gw_sched_worker_queue_rings_update(sched, lane);
}

void gw_sched_worker_queue_leave(struct gw_sched *sched, struct gw_worker_queue *lane,
                                 const struct gw_attempt *attempt)
{
    assert(lane->attempts > 0 && lane->shape->attempts > 0);
    lane->attempts--;
    lane->barren = false;
    lane->shape->attempts--;
    if (attempt->is_long)
        lane->longs--;
    if (attempt->pipelined)
        lane->pipelined--;
    uint32_t shorts = lane->attempts - lane->longs, shared = lane->debits - lane->longs;
    if (shared > shorts || (attempt->is_long && shared > 1))
        credit(sched, lane);
    room_update_first(lane);
    if (lane->debits > lane->longs)
        sched->freed = true;
    queued_update(lane);
    idle_update(sched, lane);
}

void gw_sched_worker_queue_lend(struct gw_sched *sched, struct gw_worker_queue *lane, bool is_long)
{
    if (!is_long) { /* the attempt runs, whether it has a debit or not */
        if (lane->debits == lane->longs)
            gw_sched_worker_queue_debit(sched, lane);
        lane->longs++;
        gw_sched_worker_queue_rings_update(sched, lane);
    }
    lane->blocked++;
    lane->worker->blocked++;
    give(sched, lane->worker, debit_slots(lane), 0);
}

void gw_sched_worker_queue_reclaim(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    assert(lane->blocked > 0);
    lane->blocked--;
    lane->worker->blocked--;
    take(sched, lane->worker, debit_slots(lane), 0);
}

void gw_sched_worker_queue_turn_queued(struct gw_resource_class *shape, bool barren)
{
    struct gw_worker_queue *lane = shape->queued;
    lane->barren = lane->barren || barren;
    shape->queued = lane->queued_next;
}

void gw_sched_worker_queue_ask(struct gw_worker_queue *lane)
{
    lane->asked = true;
}

/* -- Reserved slots --------------------------------------------------------------------------- */

/* Sets the ranks that are reserved at a worker, and moves it to the list for its new number of open
 * slots. */
void gw_sched_worker_queue_reserve(struct gw_sched *sched, struct gw_worker *worker,
                                   uint32_t number, uint32_t ranks)
{
    const uint32_t slots = sched->reservations[number].slots;
    gw_sched_worker_queue_unlink(sched, worker);
    worker->reserved_slots += (ranks - worker->reserved_ranks[number]) * slots;
    worker->reserved_ranks[number] = ranks;
    worker->reserved &= ~(1U << number);
    worker->reserved |= (uint32_t)(ranks > 0) << number;
    gw_sched_worker_queue_link(sched, worker);
}

void gw_sched_worker_queue_reserve_for(struct gw_sched *sched, uint32_t number,
                                       struct gw_queue *queue,
                                       const struct gw_reserved_rank *reserved_ranks,
                                       uint32_t count)
{
    struct gw_reservation *reservation = &sched->reservations[number];
    assert(!reservation->job);
    reservation->job = queue->job->id;
    reservation->index = gw_bits_first(&queue->ready);
    reservation->queue = queue;
    reservation->shape = queue->shape;
    reservation->slots = queue->shape->slots;
    reservation->workers_epoch = sched->workers_epoch;
    reservation->made_ns = sched->now_ns;
    reservation->seen = false;
    sched->reserved |= 1U << number;
    gw_array_clear(&reservation->reserved_ranks);
    for (uint32_t i = 0; i < count; i++) {
        GW_MUST(gw_array_push(&reservation->reserved_ranks, reserved_ranks[i]));
        gw_sched_worker_queue_reserve(sched, reserved_ranks[i].worker, number,
                                      reserved_ranks[i].ranks);
    }
}
