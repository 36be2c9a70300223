/* Replicas: clients ask that several workers hold a result; workers are told to fetch and keep it.
 */
#ifndef GW_SCHEDULER_CORE_REQUESTS_REPLICA_H
#define GW_SCHEDULER_CORE_REQUESTS_REPLICA_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_replicate takes a client's request for copies of a result, or answers it with an
 * error at once. */
void gw_sched_on_replicate(struct gw_sched *sched, struct gw_remote *remote,
                           const struct gw_msg_replicate *replicate);

/* gw_sched_on_kept takes a worker's word that a copy is there, or why not. */
void gw_sched_on_kept(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_kept *kept);

/* gw_sched_replica_try asks for what copies are missing, and answers when no more are to come:
 * true. */
bool gw_sched_replica_try(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_pending_request *pending);

#endif
