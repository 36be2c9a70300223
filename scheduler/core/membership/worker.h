/* Workers: registration, heartbeats, loss, dismissal, and departure. */
#ifndef GW_SCHEDULER_CORE_MEMBERSHIP_WORKER_H
#define GW_SCHEDULER_CORE_MEMBERSHIP_WORKER_H

#include "scheduler/core/model/state.h"

/* gw_sched_worker_on_registration accepts the registration of a worker. It returns GW_EPROTO for a
 * second registration of the same connection or for invalid numbers. gw_sched_worker_on_heartbeat
 * handles a heartbeat. */
int gw_sched_worker_on_registration(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_registration *registration);
void gw_sched_worker_on_heartbeat(struct gw_sched *sched, struct gw_worker *worker,
                                  const struct gw_msg_heartbeat *heartbeat);

/* gw_sched_worker_lose ends all attempts of a worker as lost and removes its replicas. `why` is
 * text for people. The connection (remote) stays until it is closed. */
void gw_sched_worker_lose(struct gw_sched *sched, struct gw_worker *worker, const char *why);

/* gw_sched_worker_dismiss does the same for a worker that the scheduler refused, or that a user or
 * signal asked to shut down. This does not count as a failure of its host. */
void gw_sched_worker_dismiss(struct gw_sched *sched, struct gw_worker *worker, const char *why);

/* gw_sched_worker_empty is called when no attempt runs any more at a worker that was told to end.
 * It ends attempts and removes replicas as gw_sched_worker_dismiss does, but the worker stays
 * connected in state GW_WORKER_SHUTTING_DOWN. */
void gw_sched_worker_empty(struct gw_sched *sched, struct gw_worker *worker, const char *why);

/* gw_sched_workers_on_tick sends heartbeats to all workers. A worker that was silent for too long
 * is treated as lost. */
void gw_sched_workers_on_tick(struct gw_sched *sched);

/* gw_sched_worker_history_tell fills in the part of a heartbeat that tells the worker how many
 * commits the journal has. */
void gw_sched_worker_history_tell(const struct gw_sched *sched, struct gw_msg_heartbeat *heartbeat);

/* gw_sched_worker_history_check compares the journal with the number of commits that the worker was
 * last told. If the journal has fewer commits, the scheduler ends (GW_EFFECT_DAMAGED) and the
 * function returns false. In that case nothing at the worker may be ended. */
bool gw_sched_worker_history_check(struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_msg_registration *registration);

/* Departure of workers that were told to end.
 *
 * Such a worker reports this at once, and no more tasks are placed there. When all of its attempts
 * have ended it reports again: the remaining attempts are placed elsewhere, as for a dismissed
 * worker. The worker stays connected (GW_WORKER_SHUTTING_DOWN) while it is the only one with a
 * checkpoint that a gang needs. It is told to shut down as soon as another worker has the
 * checkpoint or none could take it. The worker also ends by itself after GW_LEAVE_NS. */

/* gw_sched_leave_on_leaving handles a worker's report that it was told to end. No more tasks are
 * placed there. If all of its attempts have ended, the worker stays for its checkpoints or is told
 * to shut down. */
void gw_sched_leave_on_leaving(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_leaving *leaving);

/* gw_sched_workers_leave_settle shuts down the departing workers that are no longer needed. It is
 * called after the placement of a step. */
void gw_sched_workers_leave_settle(struct gw_sched *sched);

#endif
