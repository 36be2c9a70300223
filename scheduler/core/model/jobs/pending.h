/* Marks pending requests to be tried again after a change. */
#ifndef GW_SCHEDULER_CORE_PENDING_H
#define GW_SCHEDULER_CORE_PENDING_H

#include "scheduler/core/model/state.h"

/* gw_sched_pending_on_back is called when a worker has reconnected, or when the time to wait for
 * it is over. It marks the requests that wait for workers to reconnect, so that they are tried
 * again. Only for use in model/. */
void gw_sched_pending_on_back(struct gw_sched *sched);

/* gw_sched_pending_on_placed marks the pending requests of a job because a task of it was placed.
 * gw_sched_pending_on_worker_lost frees requests from a lost worker, so that another worker can be
 * asked. Only for use in model/. */
void gw_sched_pending_on_placed(struct gw_sched *sched, const struct gw_job *job);
void gw_sched_pending_on_worker_lost(struct gw_sched *sched, uint32_t id);

/* gw_sched_pending_deinit frees all requests. */
void gw_sched_pending_deinit(struct gw_sched *sched);

/* A request waits for an answer, was passed to a worker (NULL: to none), is answered. */
void gw_sched_pending_answer(struct gw_sched *sched, uint64_t relay);
void gw_sched_pending_ask(struct gw_sched *sched, const struct gw_pending_request *asked);
void gw_sched_pending_relay(struct gw_sched *sched, uint64_t relay, struct gw_worker *worker);

#endif
