/* Appliers of facts about workers. */
#ifndef GW_SCHEDULER_CORE_CHANGES_WORKER_H
#define GW_SCHEDULER_CORE_CHANGES_WORKER_H

#include "scheduler/core/model/state.h"

/* gw_sched_lost_worker_on_lost remembers a lost worker as one that may reconnect. For appliers
 * only. */
void gw_sched_lost_worker_on_lost(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_need_worker finds a worker for one more rank of a resource class with a constraint: the
 * one with the most free slots among those that `takes` accepts. Workers that the constraint names
 * come first. Returns NULL if there is none. It checks only workers that could ever run a rank. */
struct gw_worker *gw_sched_need_worker(struct gw_sched *sched, struct gw_shape *shape,
                                       bool (*takes)(const struct gw_sched *sched,
                                                     const struct gw_worker *worker, void *arg),
                                       void *arg);

/* gw_sched_worker_new creates a worker that has not registered. For appliers only. */
void gw_sched_worker_new(struct gw_sched *sched, struct gw_remote *remote);
void gw_sched_worker_free(struct gw_sched *sched, struct gw_worker *worker);

#endif
