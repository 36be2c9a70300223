/* Workers register, are silent, are lost and are dismissed. */
#ifndef GW_SCHEDULER_CORE_MEMBERSHIP_WORKER_H
#define GW_SCHEDULER_CORE_MEMBERSHIP_WORKER_H

#include "scheduler/core/model/state.h"

/* gw_sched_worker_on_registration takes a worker in; GW_EPROTO for a second one, or senseless
 * numbers. */
int gw_sched_worker_on_registration(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_registration *registration);
void gw_sched_worker_on_heartbeat(struct gw_sched *sched, struct gw_worker *worker,
                                  const struct gw_msg_heartbeat *heartbeat);

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

#endif
