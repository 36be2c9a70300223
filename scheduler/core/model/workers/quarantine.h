/* Workers that failed gangs lately: they take no ranks for a while, so that a gang that starts
 * again does not start on the same bad worker at once. And workers that could not give a task its
 * files, because the disk is full, say: they take nothing that has files for a while, or they,
 * being idle, would draw all such tasks and fail them. */
#ifndef GW_SCHEDULER_CORE_QUARANTINE_H
#define GW_SCHEDULER_CORE_QUARANTINE_H

#include "scheduler/core/model/state.h"

/* gw_sched_quarantine_begin: a gang's attempt ended because of this worker (it was lost, or a rank
 * did not get ready there). Names outlive workers: one that comes back is the same.
 * gw_sched_quarantine_end: a gang ended well there. */
void gw_sched_quarantine_begin(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_quarantine_end(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_quarantine_files_end: something with files ended well at a worker. What begins it is in
 * changes/ranks.h. */
void gw_sched_quarantine_files_end(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_quarantine_left_ns is how long a worker takes nothing of a shape yet; 0: it does.
 * gw_sched_quarantine_files_left_ns is that for what has files. */
uint64_t gw_sched_quarantine_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                     const struct gw_shape *shape);
uint64_t gw_sched_quarantine_files_left_ns(const struct gw_sched *sched,
                                           const struct gw_worker *worker);

/* gw_sched_quarantines_on_tick lets those go whose time is over; gw_sched_quarantines_deadline_ns
 * is when that is next. */
void gw_sched_quarantines_on_tick(struct gw_sched *sched);
uint64_t gw_sched_quarantines_deadline_ns(const struct gw_sched *sched);

#endif
