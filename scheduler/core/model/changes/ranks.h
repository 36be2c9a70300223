/* How many ranks the cluster could ever hold, and which workers take none for a while. */
#ifndef GW_SCHEDULER_CORE_CHANGES_RANKS_H
#define GW_SCHEDULER_CORE_CHANGES_RANKS_H

#include "scheduler/core/model/state.h"

/* gw_sched_ranks_quarantine_files_begin: a worker could not give its files to a task of this shape,
 * and takes none with files for a while. False if no other workers could hold the task: then
 * nothing changes, and it may as well fail. */
bool gw_sched_ranks_quarantine_files_begin(struct gw_sched *sched, const struct gw_worker *worker,
                                           const struct gw_shape *shape);

/* gw_sched_ranks_hold_least tells whether the cluster, if empty, could hold the fewest ranks of a
 * shape. */
bool gw_sched_ranks_hold_least(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_ranks_ever is how many ranks of a shape could start if all workers were empty. */
uint64_t gw_sched_ranks_ever(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_ranks_could remembers the answer of gw_sched_ranks_hold_least until workers come or go.
 */
bool gw_sched_ranks_could(const struct gw_sched *sched, struct gw_shape *shape);

#endif
