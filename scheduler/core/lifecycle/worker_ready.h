/* A worker is ready when no attempt of an earlier connection is left. */
#ifndef GW_SCHEDULER_CORE_WORKER_READY_H
#define GW_SCHEDULER_CORE_WORKER_READY_H

#include "scheduler/core/model/state.h"

/* gw_sched_worker_on_stale hears that something ended that the table of attempts does not know: an
 * attempt from before the worker registered, perhaps. */
void gw_sched_worker_on_stale(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                              uint32_t rank);

/* gw_sched_worker_ready_perhaps readies a worker that has registered, where nothing is in the way.
 */
void gw_sched_worker_ready_perhaps(struct gw_sched *sched, struct gw_worker *worker);

#endif
