/* Workers are registered, ready, lost and empty. */
#ifndef GW_SCHEDULER_CORE_CHANGES_WORKER_H
#define GW_SCHEDULER_CORE_CHANGES_WORKER_H

#include "scheduler/core/model/state.h"

/* gw_sched_lost_worker_on_lost keeps a worker that is lost as one that may come back; for apply
 * functions. */
void gw_sched_lost_worker_on_lost(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_need_worker gives the worker with most free slots among those that `takes` says have
 * room for one more rank of a shape with a need, a named one where there is one; NULL: none. It
 * looks only at workers that could ever hold one. */
struct gw_worker *gw_sched_need_worker(struct gw_sched *sched, struct gw_shape *shape,
                                       bool (*takes)(const struct gw_sched *sched,
                                                     const struct gw_worker *worker, void *arg),
                                       void *arg);

/* gw_sched_worker_new makes a worker that has not registered; for apply functions. */
void gw_sched_worker_new(struct gw_sched *sched, struct gw_remote *remote);
void gw_sched_worker_free(struct gw_sched *sched, struct gw_worker *worker);

#endif
