/* Placement: ready tasks go to workers. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_H
#define GW_SCHEDULER_CORE_PLACEMENT_H

#include "scheduler/core/state.h"

/* gw_sched_place places what can be placed now, in the order of priority, age of the job, row. */
void gw_sched_place(struct gw_sched *sched);

/* gw_sched_window is how many tasks of a spec may be at a slot, the running one included; 1 for
 * what is long, or not known to be short. */
uint32_t gw_sched_window(const struct gw_sched *sched, struct gw_spec *spec);

/* gw_sched_ranks_at is how many ranks of a shape could start at a worker: now, or (ever) if it were
 * empty. */
uint64_t gw_sched_ranks_at(const struct gw_sched *sched, const struct gw_worker *worker,
                           const struct gw_shape *shape, bool ever);

/* gw_sched_ranks_ever is how many ranks of a shape could start if all workers were empty. */
uint64_t gw_sched_ranks_ever(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_most_free is the worker with most free slots that has room for one more of a shape,
 * beside what is reserved, or NULL. */
struct gw_worker *gw_sched_most_free(struct gw_sched *sched, struct gw_shape *shape);

#endif
