/* Counts the ranks that the cluster could ever run, and puts workers in quarantine for tasks with
 * files. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RANKS_H
#define GW_SCHEDULER_CORE_CHANGES_RANKS_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranks_quarantine_files_begin puts a worker in quarantine for tasks with files, because
 * it could not set up the files of a task. Returns false if no other worker could run the task.
 * Then nothing changes, and the task should fail. */
bool gw_sched_ranks_quarantine_files_begin(struct gw_sched *sched, const struct gw_worker *worker,
                                           const struct gw_shape *shape);

/* gw_sched_ranks_hold_least returns true if an empty cluster could run the smallest size of a gang.
 */
bool gw_sched_ranks_hold_least(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_ranks_ever returns how many ranks of a resource class could start if all workers were
 * empty. */
uint64_t gw_sched_ranks_ever(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_ranks_could caches the result of gw_sched_ranks_hold_least until a worker joins or
 * leaves. */
bool gw_sched_ranks_could(const struct gw_sched *sched, struct gw_shape *shape);

#endif
