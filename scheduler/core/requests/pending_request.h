/* Pending requests: requests of clients and workers that are answered later, or by a worker. */
#ifndef GW_SCHEDULER_CORE_PENDING_REQUEST_H
#define GW_SCHEDULER_CORE_PENDING_REQUEST_H

#include "scheduler/core/model/state.h"

/* These functions take a request that is answered later: at the end of a job, or with a result or a
 * part of a task's output. If the client or worker may not access the job or task, the request is
 * answered with an error immediately. */
void gw_sched_on_wait(struct gw_sched *sched, struct gw_remote *remote,
                      const struct gw_msg_wait *wait);
void gw_sched_on_fetch(struct gw_sched *sched, struct gw_remote *remote,
                       const struct gw_msg_fetch *fetch);
void gw_sched_on_log_read(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_msg_log_read *read);

/* gw_sched_on_object and gw_sched_on_log_data pass the answer of a worker on to the client or
 * worker that asked. */
void gw_sched_on_object(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_object *object);
void gw_sched_on_log_data(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_log_data *data);

/* gw_sched_pending_requests_settle tries the pending requests of the jobs that have changed. */
void gw_sched_pending_requests_settle(struct gw_sched *sched);

/* gw_sched_pending_requests_follow asks workers for the output of tasks that were placed in this
 * step. It runs after the assignments were added to the step's effects, so that a worker receives
 * the assignment first. */
void gw_sched_pending_requests_follow(struct gw_sched *sched);

#endif
