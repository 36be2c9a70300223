/* Limits what other tasks may use at a worker with reserved ranks. */
#ifndef GW_SCHEDULER_CORE_RESERVATION_GUARD_H
#define GW_SCHEDULER_CORE_RESERVATION_GUARD_H

#include "scheduler/core/model/state.h"

/* gw_sched_reservation_guard_leaves returns how many ranks of a shape (1 for an ordinary task) fit
 * on a worker besides the ranks of the reservations of a set (by number). It returns UINT64_MAX if
 * none of these has ranks there. gw_sched_reservation_guard_beside does the same for these
 * reservations and a copy of a worker, and expects no room from work that is preempted. */
uint64_t gw_sched_reservation_guard_leaves(const struct gw_sched *sched,
                                           const struct gw_worker *worker,
                                           const struct gw_resource_class *shape,
                                           uint32_t restricts);
uint64_t gw_sched_reservation_guard_beside(const struct gw_reservation *reservations,
                                           const struct gw_worker *worker,
                                           const struct gw_resource_class *shape,
                                           uint32_t restricts);

#endif
