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

/* gw_sched_worker_history_tell fills in what a worker is told of it. */
void gw_sched_worker_history_tell(const struct gw_sched *sched, struct gw_msg_heartbeat *heartbeat);

/* gw_sched_worker_history_check holds the history against what a worker knows. Where it is shorter
 * the scheduler ends (GW_EFFECT_DAMAGED), and false is given: nothing of the worker may be ended.
 */
bool gw_sched_worker_history_check(struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_msg_registration *registration);

/* Workers that were told to end.
 *
 * One that is says so at once, and nothing more is placed there. When all that it ran has ended it
 * says so again: that runs elsewhere then, as what a worker had that was sent away does. It stays
 * itself, leaving, for as long as nobody else has a checkpoint that a gang would go on from, and is
 * told to go (shutdown) as soon as somebody has, or nobody is there who could. It goes by itself
 * after GW_LEAVE_NS. */

/* gw_sched_leave_on_leaving takes a worker's word that it was told to end: nothing more is placed
 * there. If it has ended all that it ran, it stays for its checkpoints, or is told to go. */
void gw_sched_leave_on_leaving(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_leaving *leaving);

/* gw_sched_workers_leave_settle lets those go that need not stay, once a step has placed what it
 * could. */
void gw_sched_workers_leave_settle(struct gw_sched *sched);

#endif
