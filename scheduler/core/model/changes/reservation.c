/* Changes of state of the reservation of a gang. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/workers/worker_queue.h"

void gw_sched_reservation_move(struct gw_sched *sched, struct gw_worker *from, struct gw_worker *to)
{
    struct gw_reservation *reservation = &sched->reservation;
    struct gw_reserved_rank *more = NULL;
    uint32_t slots = reservation->shape->slots;
    for (size_t i = reservation->reserved_ranks.count; i-- > 0;) {
        struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        if (reserved->worker == to)
            more = reserved;
        if (reserved->worker == from)
            reserved->ranks--;
    }
    if (more)
        more->ranks++;
    else
        GW_MUST(
            gw_array_push(&reservation->reserved_ranks, ((struct gw_reserved_rank){to, 1, true})));
    gw_sched_worker_queue_reserve(sched, to, to->reserved_ranks + 1, slots);
    gw_sched_worker_queue_reserve(sched, from, from->reserved_ranks - 1, slots);
    for (size_t i = reservation->reserved_ranks.count; i-- > 0;)
        if (reservation->reserved_ranks.items[i].ranks == 0)
            gw_array_remove_swap(&reservation->reserved_ranks, i);
    gw_sched_attempt_frontier_freed(sched, from);
    reservation->seen = false;
    sched->freed = true;
}

void gw_sched_reservation_clear(struct gw_sched *sched)
{
    struct gw_reservation *reservation = &sched->reservation;
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        gw_sched_worker_queue_reserve(sched, reservation->reserved_ranks.items[i].worker, 0, 0);
        gw_sched_attempt_frontier_freed(sched, reservation->reserved_ranks.items[i].worker);
    }
    gw_array_clear(&reservation->reserved_ranks);
    reservation->job = 0;
    reservation->held = false;
    reservation->queue = NULL;
    reservation->shape = NULL;
    /* Other tasks may use the slots, or another gang may hold the next reservation. */
    sched->freed = true;
}

void gw_sched_reservation_served(struct gw_sched *sched, const struct gw_job *job, uint32_t index)
{
    if (sched->reservation.job != job->id || sched->reservation.index != index)
        return;
    gw_sched_reservation_clear(sched);
    sched->reservation.overtaken = 0;
}

void gw_sched_reservation_set_held(struct gw_sched *sched)
{
    sched->reservation.held = true;
    sched->reservation.workers_epoch = sched->workers_epoch;
}

void gw_sched_reservation_overtake(struct gw_sched *sched, uint64_t size)
{
    sched->reservation.overtaken += size;
}

void gw_sched_reservation_requeue(struct gw_sched *sched, struct gw_queue *queue)
{
    sched->reservation.queue = queue;
    sched->reservation.shape = queue->shape;
}

void gw_sched_reservation_see(struct gw_sched *sched, uint64_t start_ns)
{
    sched->reservation.start_ns = start_ns;
    sched->reservation.seen = true;
}

void gw_sched_reservation_unsee(struct gw_sched *sched)
{
    sched->reservation.seen = false;
}
