/* Workers: from their greeting to their loss. */
#ifndef GW_SCHEDULER_CORE_WORKER_H
#define GW_SCHEDULER_CORE_WORKER_H

#include "scheduler/core/state.h"

/* gw_sched_worker_new makes a worker that has not registered; for apply functions. */
void gw_sched_worker_new(struct gw_sched *sched, struct gw_remote *remote);
void gw_sched_worker_free(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_worker_find gives a worker by its id, or NULL when it is lost. */
struct gw_worker *gw_sched_worker_find(const struct gw_sched *sched, uint32_t id);

/* gw_sched_worker_on_registration takes a worker in; GW_EPROTO for a second one, or senseless
 * numbers. */
int gw_sched_worker_on_registration(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_registration *registration);
void gw_sched_worker_on_heartbeat(struct gw_sched *sched, struct gw_worker *worker,
                                  const struct gw_msg_heartbeat *heartbeat);

/* gw_sched_worker_on_stale hears that something ended that the table of attempts does not know: an
 * attempt from before the worker registered, perhaps. */
void gw_sched_worker_on_stale(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                              uint32_t rank);

/* gw_sched_worker_lose gives away what a worker had; why: for a person. The remote stays until it
 * is closed. */
void gw_sched_worker_lose(struct gw_sched *sched, struct gw_worker *worker, const char *why);

/* gw_sched_worker_dismiss does the same for one that was sent away, or told to end: it is no
 * host that failed. */
void gw_sched_worker_dismiss(struct gw_sched *sched, struct gw_worker *worker, const char *why);

/* gw_sched_worker_empty: nothing of one that was told to end runs any more. What it had is given
 * away, as by gw_sched_worker_dismiss, but it stays, leaving. */
void gw_sched_worker_empty(struct gw_sched *sched, struct gw_worker *worker, const char *why);

/* gw_sched_workers_on_tick sends heartbeats and loses those that were silent for too long. */
void gw_sched_workers_on_tick(struct gw_sched *sched);

/* gw_sched_worker_fits tells whether one more attempt of a shape could start there now;
 * gw_sched_worker_could: if it were empty. */
bool gw_sched_worker_fits(const struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_shape *shape);
bool gw_sched_worker_could(const struct gw_worker *worker, const struct gw_shape *shape);

/* gw_sched_worker_ready_perhaps readies a worker that has registered, where nothing is in the way.
 */
void gw_sched_worker_ready_perhaps(struct gw_sched *sched, struct gw_worker *worker);

#endif
