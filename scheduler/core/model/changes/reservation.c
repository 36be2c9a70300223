/* Changes of state of the reservations. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/workers/worker_queue.h"

void gw_sched_reservation_move(struct gw_sched *sched, struct gw_worker *from, struct gw_worker *to)
{
    struct gw_reservation *reservation = &sched->reservations[GW_RESERVATION_OF_GANG];
    struct gw_reserved_rank *more = NULL;
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
    gw_sched_worker_queue_reserve(sched, to, GW_RESERVATION_OF_GANG,
                                  to->reserved_ranks[GW_RESERVATION_OF_GANG] + 1);
    gw_sched_worker_queue_reserve(sched, from, GW_RESERVATION_OF_GANG,
                                  from->reserved_ranks[GW_RESERVATION_OF_GANG] - 1);
    for (size_t i = reservation->reserved_ranks.count; i-- > 0;)
        if (reservation->reserved_ranks.items[i].ranks == 0)
            gw_array_remove_swap(&reservation->reserved_ranks, i);
    gw_sched_attempt_frontier_freed(sched, from);
    reservation->seen = false;
    sched->freed = true;
}

void gw_sched_reservation_clear(struct gw_sched *sched, uint32_t number)
{
    struct gw_reservation *reservation = &sched->reservations[number];
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        struct gw_worker *worker = reservation->reserved_ranks.items[i].worker;
        gw_sched_worker_queue_reserve(sched, worker, number, 0);
        gw_sched_attempt_frontier_freed(sched, worker);
    }
    gw_array_clear(&reservation->reserved_ranks);
    reservation->job = 0;
    reservation->queue = NULL;
    reservation->shape = NULL;
    sched->reserved &= ~(1U << number);
    /* Other tasks may use the slots, or another gang may hold the next reservation. */
    sched->freed = true;
}

void gw_sched_reservation_served(struct gw_sched *sched, const struct gw_job *job, uint32_t index)
{
    GW_EACH_RESERVATION (number, sched->reserved)
        if (sched->reservations[number].job == job->id &&
            sched->reservations[number].index == index) {
            gw_sched_reservation_clear(sched, number);
            sched->reservations[GW_RESERVATION_OF_GANG].overtaken = 0;
        }
}

void gw_sched_reservation_overtake(struct gw_sched *sched, uint64_t size)
{
    sched->reservations[GW_RESERVATION_OF_GANG].overtaken += size;
}

void gw_sched_reservation_requeue(struct gw_sched *sched, uint32_t number, struct gw_queue *queue)
{
    sched->reservations[number].queue = queue;
    sched->reservations[number].shape = queue->shape;
}

void gw_sched_reservation_see(struct gw_sched *sched, uint64_t start_ns)
{
    sched->reservations[GW_RESERVATION_OF_GANG].start_ns = start_ns;
    sched->reservations[GW_RESERVATION_OF_GANG].seen = true;
}

void gw_sched_reservation_unsee(struct gw_sched *sched)
{
    sched->reservations[GW_RESERVATION_OF_GANG].seen = false;
}
