/* Answers the requests of other workers and of the scheduler for an object. */
#include "worker/core/objects/answer.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/result_memfd.h"

#include <string.h>

void gw_answer_send(struct gw_node_core *core, struct gw_node_link *link, uint64_t request,
                    const struct gw_object *object)
{
    struct gw_effect *effect = gw_core_send(core, link, GW_MESSAGE_object);
    struct gw_msg_object *answer = &effect->message.object;
    answer->request = request;
    answer->text = "";
    answer->attempt = object ? object->attempt : 0;
    if (!object) {
        answer->code = GW_ENOENT;
        answer->text = "this worker does not hold the object";
    } else if (object->token) {
        gw_result_memfd_leave(object);
        answer->bytes = object->bytes;
        gw_core_token(core, effect, object->token);
    } else {
        void *copy = gw_core_scratch(core, object->bytes);
        memcpy(copy, object->value, object->bytes);
        answer->bytes = object->bytes;
        answer->value = (struct gw_bin){copy, (uint32_t)object->bytes};
    }
}

void gw_answer_waiter(struct gw_node_core *core, const struct gw_object_waiter *waiter,
                      const struct gw_object *object)
{
    uint64_t value;
    if (!waiter->run && gw_map_get(&core->links, waiter->peer, &value))
        gw_answer_send(core, (struct gw_node_link *)(uintptr_t)value, waiter->request, object);
}
