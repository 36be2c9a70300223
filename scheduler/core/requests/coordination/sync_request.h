/* Handles requests of clients for locks, semaphores, queues, events and variables. */
#ifndef GW_SCHEDULER_CORE_SYNC_REQUEST_H
#define GW_SCHEDULER_CORE_SYNC_REQUEST_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_sync handles a request of a client. An invalid request is answered with an error. */
void gw_sched_on_sync(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_sync *message);

/* gw_sync_request_settle deletes the objects of jobs that have ended (GW_NOTES: nameless). */
void gw_sync_request_settle(struct gw_sched *sched);

/* gw_sync_request_session_end ends all waits and leases of a session. */
void gw_sync_request_session_end(struct gw_sched *sched, struct gw_session *session);

/* gw_sync_on_tick refuses the requests whose timeout has expired. */
void gw_sync_on_tick(struct gw_sched *sched);

/* gw_sync_request_serve answers the waiting requests that an object can serve now. */
void gw_sync_request_serve(struct gw_sched *sched, struct gw_sync *sync);

#endif
