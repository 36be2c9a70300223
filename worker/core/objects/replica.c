/* Replicas: objects that the scheduler wants on this worker, although no attempt here has them as
 * an input.
 *
 * Invariants: each request gets one answer: the object is here, or it could not be fetched, or it
 * was released before. A request gets no answer if its scheduler is gone. A replica is an object
 * like any other: it may be spilled, sent to other workers and released. */
#include "worker/core/objects/replica.h"

#include "worker/core/objects/fetch.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/object.h"

void gw_replica_on_request(struct gw_node_core *core, const struct gw_msg_replica_request *request)
{
    struct gw_object *object = gw_object_find(core, request->job, request->index, request->rank);
    if (object && !object->released) {
        gw_memory_rank(core, object);
        gw_fetch_tell_replica(core, request, 0, "");
    } else if (core->memory.state != GW_MEMORY_OPEN) {
        gw_fetch_tell_replica(core, request, GW_ELIMIT, "it is short of memory");
    } else {
        gw_fetch_replica(core, request);
    }
}
