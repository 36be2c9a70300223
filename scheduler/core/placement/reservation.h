/* The reservation: what is kept free for the gang that waits first. At most one gang holds one. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_RESERVATION_H
#define GW_SCHEDULER_CORE_PLACEMENT_RESERVATION_H

#include "scheduler/core/model/state.h"

/* What wants to be placed. */
struct gw_claim {
    const struct gw_queue *queue; /* NULL: nobody in particular */
    const struct gw_spec *spec;
};

/* gw_sched_reservation_review drops a reservation that does not hold any more: its gang does not
 * wait, or workers came or went. First thing of each placement. */
void gw_sched_reservation_review(struct gw_sched *sched);

/* gw_sched_reservation_on_blocked: the first of a queue could run here, and does not fit now. A
 * gang that comes first gets the reservation, or what was freed since added to it; what comes
 * before the gang that holds it ends it. behind: an ordinary task that could run waits before it.
 */
void gw_sched_reservation_on_blocked(struct gw_sched *sched, struct gw_queue *queue, bool behind);

/* gw_sched_reservation_start tells when the reservation's gang starts at the latest, unless its
 * workers are lost, and whose end it waits for then (0: nobody's). UINT64_MAX: nobody knows; then
 * *attempt is one without a time limit. There must be one. */
uint64_t gw_sched_reservation_start(const struct gw_sched *sched, uint64_t *attempt);

/* gw_sched_reservation_tell writes, for a task or gang that is ready and waits, what is reserved
 * for it and when it starts, or whom it waits behind; each clause begins with "; ". */
void gw_sched_reservation_tell(const struct gw_sched *sched, const struct gw_job *job,
                               uint32_t index, char *text, size_t bytes);

/* gw_sched_reservation_check asserts that it is one gang's, whole, and counted at its workers. */
void gw_sched_reservation_check(const struct gw_sched *sched);

/* gw_sched_reservation_passes tells whether something may use what is reserved: the gang itself,
 * what comes before it, what a running task submitted (that would wait, with its slots, for what
 * waits for them), and what its time limit ends before the gang starts. */
bool gw_sched_reservation_passes(struct gw_sched *sched, const struct gw_claim *claim);

#endif
