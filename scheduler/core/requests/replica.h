/* Replicas: a client asks that several workers hold a result, and the scheduler tells workers to
 * fetch and keep it. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_REPLICA_H
#define GW_SCHEDULER_CORE_REQUESTS_REPLICA_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_replicate takes a client's request for replicas of a result. An invalid request is
 * answered with an error immediately. */
void gw_sched_on_replicate(struct gw_sched *sched, struct gw_remote *remote,
                           const struct gw_msg_replicate *replicate);

/* gw_sched_on_replica_reply handles a worker's report that a replica has arrived or has failed. */
void gw_sched_on_replica_reply(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_replica_reply *reply);

/* gw_sched_replica_try tells workers to make the missing replicas. If no more will be made, it
 * answers the request and returns true. */
bool gw_sched_replica_try(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_pending_request *pending);

#endif
