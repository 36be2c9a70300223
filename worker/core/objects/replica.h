/* Replicas of objects that the scheduler wants on this worker. */
#ifndef GW_WORKER_CORE_OBJECTS_REPLICA_H
#define GW_WORKER_CORE_OBJECTS_REPLICA_H

#include "worker/core/model/state.h"

void gw_replica_on_request(struct gw_node_core *core, const struct gw_msg_replica_request *request);

#endif
