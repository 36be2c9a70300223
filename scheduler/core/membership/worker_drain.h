/* Draining of workers: requests of admins, reports of health checks, and the deadline. */
#ifndef GW_SCHEDULER_CORE_MEMBERSHIP_WORKER_DRAIN_H
#define GW_SCHEDULER_CORE_MEMBERSHIP_WORKER_DRAIN_H

#include "scheduler/core/model/state.h"

/* gw_sched_worker_drain_on_ask handles an admin's request to drain or undrain a worker. The session
 * gets a reply when the change is on disk. GW_ENOENT: no worker has the name; GW_EINVAL: it is not
 * drained; GW_EPERM: the user is no admin. */
int gw_sched_worker_drain_on_ask(struct gw_sched *sched, struct gw_session *session,
                                 const struct gw_msg_worker_ask *ask);

/* gw_sched_worker_drain_on_health handles a worker's report about its health check: the worker is
 * drained if a check fails. Otherwise it is undrained, if only its health check has drained
 * it. If more than half of the workers, and at least two, say that their clocks differ in the same
 * direction, that of the scheduler is wrong, and they are not drained for that. Returns GW_EPROTO
 * if the worker is not registered. */
int gw_sched_worker_drain_on_health(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_msg_health *health);

/* gw_sched_worker_drains_settle asks newly drained workers to return what they have not begun, and
 * ends what still runs at a deadline. gw_sched_worker_drains_deadline_ns returns when to call it
 * next. */
void gw_sched_worker_drains_settle(struct gw_sched *sched);
uint64_t gw_sched_worker_drains_deadline_ns(const struct gw_sched *sched);

#endif
