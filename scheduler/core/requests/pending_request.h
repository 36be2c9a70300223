/* Questions: what clients (and workers) ask that is answered later, or by somebody else. */
#ifndef GW_SCHEDULER_CORE_PENDING_REQUEST_H
#define GW_SCHEDULER_CORE_PENDING_REQUEST_H

#include "scheduler/core/model/state.h"

/* These take a request of a client or worker, which is answered later: by the end of a job, a
 * result, a part of the output. A job or task that it may not ask for is answered at once, with an
 * error. */
void gw_sched_on_wait(struct gw_sched *sched, struct gw_remote *remote,
                      const struct gw_msg_wait *wait);
void gw_sched_on_fetch(struct gw_sched *sched, struct gw_remote *remote,
                       const struct gw_msg_fetch *fetch);
void gw_sched_on_log_read(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_msg_log_read *read);

/* gw_sched_on_object and gw_sched_on_log_data pass a worker's answer on. */
void gw_sched_on_object(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_object *object);
void gw_sched_on_log_data(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_log_data *data);

/* gw_sched_pending_requests_settle looks again at what waits for the jobs where something changed.
 */
void gw_sched_pending_requests_settle(struct gw_sched *sched);

/* gw_sched_pending_requests_follow asks workers for the output of tasks that have a worker now,
 * behind the assignments of the same step. */
void gw_sched_pending_requests_follow(struct gw_sched *sched);

#endif
