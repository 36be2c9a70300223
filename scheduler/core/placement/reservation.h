/* Reservations: room that is kept free for the first waiting gang, and for each task or gang for
 * which other work is preempted. model/reserved.h has their numbers. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_RESERVATION_H
#define GW_SCHEDULER_CORE_PLACEMENT_RESERVATION_H

#include "scheduler/core/model/state.h"

/* gw_sched_reservation_review drops reservations that are no longer valid, because their gangs do
 * not wait any more or the set of workers changed. Every placement begins with this call. */
void gw_sched_reservation_review(struct gw_sched *sched);

/* gw_sched_reservation_on_blocked is called if the first task or gang of a queue could run on these
 * workers but does not fit now. A gang that comes first gets the reservation, or its reservation
 * moves to room that became free. A task that comes before the gang with the reservation ends the
 * reservation. `behind` is true if an ordinary task that could run comes before this queue. */
void gw_sched_reservation_on_blocked(struct gw_sched *sched, struct gw_queue *queue, bool behind);

/* gw_sched_reservation_hold reserves room for the first task of a queue, a gang or an ordinary task
 * (one rank), for which other work is preempted by the preemption of this number. It displaces the
 * reservation of the first waiting gang, and nothing displaces it: only this task, and tasks that
 * running tasks submitted, may use the room. It ends if the task starts or does not wait any more,
 * or if the room is lost. */
void gw_sched_reservation_hold(struct gw_sched *sched, uint32_t number, struct gw_queue *queue,
                               const struct gw_reserved_rank *reserved_ranks, uint32_t count);

/* gw_sched_reservation_start returns the latest time at which the gang with a reservation starts,
 * unless its workers are lost. *attempt is the attempt for whose end the gang waits, or 0. If the
 * time is unknown, it returns UINT64_MAX, and *attempt is an attempt without a time limit. The
 * reservation must exist. */
uint64_t gw_sched_reservation_start(const struct gw_sched *sched, uint32_t number,
                                    uint64_t *attempt);

/* gw_sched_reservation_tell writes, for a ready task or gang that waits, what is reserved for it
 * and when it will start, or behind which gang it waits. Each clause begins with "; ". */
void gw_sched_reservation_tell(const struct gw_sched *sched, const struct gw_job *job,
                               uint32_t index, char *text, size_t bytes);

/* gw_sched_reservation_check asserts that each reservation belongs to one waiting gang, is
 * complete, and agrees with the counters of the workers. */
void gw_sched_reservation_check(const struct gw_sched *sched);

/* gw_sched_reservation_restricts returns the set of reservations whose room the first task of a
 * queue may not use. Tasks that a running task submitted may use all room, because the running task
 * keeps its slots while it waits for them. Nothing else may use room that is held for another
 * preemption, because this room is soon free. A task for which other work is preempted may use the
 * room of the first waiting gang.
 *
 * Who else may use the room of the first waiting gang: the gang itself, tasks that come before it,
 * and tasks whose time limit ends before the gang starts. If nobody knows when the gang starts,
 * this also applies to smaller gangs of the same user and priority, until these have taken as much
 * as the gang needs. Otherwise small gangs would wait while each large gang gathers its room, and
 * the next small ones would take that room apart.
 *
 * gw_sched_reservation_on_gang records the start of a gang. */
void gw_sched_reservation_on_gang(struct gw_sched *sched, const struct gw_queue *queue,
                                  uint32_t ranks);
uint32_t gw_sched_reservation_restricts(struct gw_sched *sched, const struct gw_queue *queue,
                                        const struct gw_spec *spec);

#endif
