/* Quarantine of workers. A worker that made a gang fail takes no ranks for a while, so that the
 * restarted gang does not use the same bad worker again at once. A worker that could not set up the
 * files of a task, for example because its disk is full, takes no tasks with files for a while.
 * Otherwise this idle worker would get all such tasks and fail them. */
#ifndef GW_SCHEDULER_CORE_QUARANTINE_H
#define GW_SCHEDULER_CORE_QUARANTINE_H

#include "scheduler/core/model/state.h"

/* gw_sched_quarantine_begin: an attempt of a gang ended because of this worker (the worker was
 * lost, or a rank did not become ready there), or (files) the worker could not provide the files of
 * a task. Names outlive workers, so a worker that reconnects is still in quarantine.
 * gw_sched_quarantine_end: a gang, or (files) a task with files, ended well at this worker. */
void gw_sched_quarantine_begin(struct gw_sched *sched, const struct gw_worker *worker, bool files);
void gw_sched_quarantine_end(struct gw_sched *sched, const struct gw_worker *worker, bool files);

/* gw_sched_quarantine_left_ns returns for how much longer a worker takes no task of this class, or
 * 0 if it does. gw_sched_quarantine_files_left_ns does the same for tasks with files. */
uint64_t gw_sched_quarantine_left_ns(const struct gw_sched *sched, const struct gw_worker *worker,
                                     const struct gw_resource_class *shape);
uint64_t gw_sched_quarantine_files_left_ns(const struct gw_sched *sched,
                                           const struct gw_worker *worker);

/* gw_sched_quarantines_on_tick ends the quarantines whose time is over.
 * gw_sched_quarantines_deadline_ns returns when that is next. */
void gw_sched_quarantines_on_tick(struct gw_sched *sched);
uint64_t gw_sched_quarantines_deadline_ns(const struct gw_sched *sched);

#endif
