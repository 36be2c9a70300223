/* Fetches objects from other workers and from the scheduler. */
#ifndef GW_WORKER_CORE_OBJECTS_FETCH_H
#define GW_WORKER_CORE_OBJECTS_FETCH_H

#include "worker/core/model/state.h"

void gw_fetch_for(struct gw_node_core *core, struct gw_attempt *run, uint32_t dep);
void gw_fetch_on_object(struct gw_node_core *core, const struct gw_event *event);
/* gw_fetch_address returns the address of another worker. NULL: the scheduler has not sent it. */
const char *gw_fetch_address(const struct gw_node_core *core, uint32_t worker);
void gw_fetch_on_neighbour(struct gw_node_core *core, const struct gw_msg_neighbour *message);
void gw_fetch_on_open(struct gw_node_core *core, struct gw_node_link *link, uint32_t worker);
void gw_fetch_on_close(struct gw_node_core *core, struct gw_neighbour *neighbour);
void gw_fetch_fail_worker(struct gw_node_core *core, uint32_t worker);
/* gw_fetch_leave_neighbours ends all fetches and forgets all workers. It is called if the scheduler
 * has restarted, since the new term numbers the workers anew. */
void gw_fetch_leave_neighbours(struct gw_node_core *core);
void gw_fetch_tick(struct gw_node_core *core);
void gw_fetch_free(struct gw_node_core *core, struct gw_fetch *fetch);
/* gw_fetch_replica fetches an object that the scheduler wants a replica of on this worker.
 * gw_fetch_on_release handles the release of objects that are here or being fetched.
 * gw_fetch_cancel_replicas drops all requests for replicas, since their scheduler is gone. */
void gw_fetch_replica(struct gw_node_core *core, const struct gw_msg_replica_request *request);
void gw_fetch_on_release(struct gw_node_core *core, const struct gw_msg_release *release);
void gw_fetch_cancel_replicas(struct gw_node_core *core);
/* gw_fetch_tell_replica reports the outcome of a replica request to the scheduler. code 0: the
 * object is here. */
void gw_fetch_tell_replica(struct gw_node_core *core, const struct gw_msg_replica_request *request,
                           int code, const char *text);

#endif
