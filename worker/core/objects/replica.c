/* Copies: objects that the scheduler wants at this worker, though no run here takes them.
 *
 * Always: each request is answered once, when the object is here or cannot be had; also where it
 * was released before; not at all where the scheduler is gone. A copy is an object like any other:
 * it goes to disk and to peers, and with its release. */
#include "worker/core/objects/replica.h"

#include "worker/core/objects/fetch.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/object.h"

void gw_replica_on_keep(struct gw_node_core *core, const struct gw_msg_keep *keep)
{
    struct gw_object *object = gw_object_find(core, keep->job, keep->index, keep->rank);
    if (object && !object->released) {
        gw_memory_rank(core, object);
        gw_fetch_tell_replica(core, keep, 0, "");
    } else if (core->memory.state != GW_MEMORY_OPEN) {
        gw_fetch_tell_replica(core, keep, GW_ELIMIT, "it is short of memory");
    } else {
        gw_fetch_keep(core, keep);
    }
}
