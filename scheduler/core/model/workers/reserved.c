/* What is reserved for gangs that wait. */
#include "scheduler/core/model/workers/reserved.h"

#include "scheduler/core/model/workers/worker_queue.h"

#include <assert.h>

/* Counts ranks in or out at a worker, and puts it where it belongs among the others. */
void gw_sched_reserved_set(struct gw_sched *sched, struct gw_worker *worker, uint32_t ranks,
                           uint32_t slots)
{
    gw_sched_worker_unlink(sched, worker);
    worker->reserved_ranks = ranks;
    worker->reserved_slots = ranks * slots;
    gw_sched_worker_link(sched, worker);
}

void gw_sched_apply_reservation_made(struct gw_sched *sched,
                                     const struct gw_fact_reservation_made *fact)
{
    struct gw_reservation *reservation = &sched->reservation;
    assert(!reservation->job);
    reservation->job = fact->queue->job->id;
    reservation->index = gw_bits_first(&fact->queue->ready);
    reservation->queue = fact->queue;
    reservation->shape = fact->queue->shape;
    reservation->workers_epoch = sched->workers_epoch;
    reservation->made_ns = sched->now_ns;
    reservation->seen = false;
    gw_array_clear(&reservation->berths);
    for (uint32_t i = 0; i < fact->count; i++) {
        GW_MUST(gw_array_push(&reservation->berths, fact->berths[i]));
        gw_sched_reserved_set(sched, fact->berths[i].worker, fact->berths[i].ranks,
                              fact->queue->shape->slots);
    }
}
