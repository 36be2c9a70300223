/* Copies: objects that the scheduler wants at this worker, though no run here takes them.
 *
 * Always: each request is answered once, when the object is here or cannot be had; also where it
 * was released before; not at all where the scheduler is gone. A copy is an object like any other:
 * it goes to disk and to peers, and with its release. */
#include "worker/core/keep.h"

#include "worker/core/core.h"
#include "worker/core/fetch.h"
#include "worker/core/memory.h"
#include "worker/core/store.h"

void gw_keep_tell(struct gw_node_core *core, const struct gw_msg_keep *keep, int code,
                  const char *text)
{
    if (!core->registered)
        return;
    const char *copy = gw_core_text(core, text);
    gw_core_send(core, core->scheduler, GW_MESSAGE_kept)->message.kept =
        (struct gw_msg_kept){keep->request, keep->job, keep->index, keep->rank, code, copy};
}

void gw_keep_on_keep(struct gw_node_core *core, const struct gw_msg_keep *keep)
{
    struct gw_object *object = gw_object_find(core, keep->job, keep->index, keep->rank);
    if (object && !object->released) {
        gw_memory_rank(core, object);
        gw_keep_tell(core, keep, 0, "");
    } else if (core->memory.state != GW_MEMORY_OPEN) {
        gw_keep_tell(core, keep, GW_ELIMIT, "it is short of memory");
    } else {
        gw_fetch_keep(core, keep);
    }
}
