/* Workers that failed gangs lately: they take no ranks for a while, so that a gang that starts
 * again does not start on the same bad worker at once. */
#ifndef GW_SCHEDULER_CORE_COOLING_H
#define GW_SCHEDULER_CORE_COOLING_H

#include "scheduler/core/state.h"

/* gw_sched_cooling_begin: a gang's attempt ended because of this worker (it was lost, or a rank did
 * not get ready there). Names outlive workers: one that comes back is the same.
 * gw_sched_cooling_end: a gang ended well there. */
void gw_sched_cooling_begin(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_cooling_end(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_cooling_left_ns is how long a worker takes no ranks yet; 0: it does. */
uint64_t gw_sched_cooling_left_ns(const struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_coolings_on_tick lets those go whose time is over; gw_sched_coolings_deadline_ns is when
 * that is next. */
void gw_sched_coolings_on_tick(struct gw_sched *sched);
uint64_t gw_sched_coolings_deadline_ns(const struct gw_sched *sched);

#endif
