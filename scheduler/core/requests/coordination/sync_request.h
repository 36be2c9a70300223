/* What clients ask of locks, semaphores, queues, events and variables. */
#ifndef GW_SCHEDULER_CORE_SYNC_REQUEST_H
#define GW_SCHEDULER_CORE_SYNC_REQUEST_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_sync does what a client asks; what it asks wrongly is answered with an error. */
void gw_sched_on_sync(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_sync *message);

/* gw_sync_request_session_end lets go of what a session holds and waits for. */
void gw_sync_request_session_end(struct gw_sched *sched, struct gw_session *session);

/* gw_sync_on_tick refuses the clients that waited for too long. */
void gw_sync_on_tick(struct gw_sched *sched);

/* gw_sync_request_serve answers those waiting clients of an object that it can serve now. */
void gw_sync_request_serve(struct gw_sched *sched, struct gw_sync *sync);

#endif
