/* Restores objects from disk and hands them to all who wait for them. */
#include "worker/core/objects/restore.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/answer.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/spill.h"

#include <stdlib.h>

static bool still_waits(const struct gw_object_waiter *waiter)
{
    return waiter->run && waiter->run->serial == waiter->serial &&
           waiter->run->state == GW_ATTEMPT_WAITING;
}

/* Gives the object to everything that waits for it. If `object` is NULL, the object is lost, and
 * the waiting attempts and requests fail. */
static void serve(struct gw_node_core *core, const struct gw_object *object,
                  const struct gw_object_waiter *waiters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gw_object_waiter *waiter = &waiters[i];
        gw_answer_waiter(core, waiter, object);
        if (still_waits(waiter) && object) {
            if (--waiter->run->missing == 0)
                gw_attempt_supplied(core, waiter->run);
        } else if (still_waits(waiter)) {
            struct gw_attempt_end end = {.outcome = GW_OUTCOME_LOST_INPUT, .code = GW_ELOST};
            end.text = gw_core_strdup("an input is lost: its copy on disk is damaged");
            gw_attempt_fail(core, waiter->run, end);
        }
    }
}

/* Reports an object whose file is damaged. The scheduler hears first that the object is lost, then
 * that the attempts which need it have ended. */
static void lose(struct gw_node_core *core, struct gw_object *object)
{
    if (core->registered && object->job)
        gw_core_send(core, core->scheduler, GW_MESSAGE_object_lost)->message.object_lost =
            (struct gw_msg_object_lost){object->job->id, object->index, object->rank, core->worker};
    size_t count = object->waiters.count;
    struct gw_object_waiter *waiters = object->waiters.items;
    object->waiters.items = NULL;
    object->waiters.count = object->waiters.capacity = 0;
    object->users++; /* keeps the object until those attempts have ended */
    object->released = true;
    serve(core, NULL, waiters, count);
    free(waiters);
    gw_object_unuse(core, object);
}

void gw_restore_on_restored(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_object *object = gw_spill_answered(core, event->number);
    if (!object) {
        if (event->code == 0)
            gw_core_drop_token(core, event->tokens[0]);
        gw_core_effect(core, GW_EFFECT_UNLINK)->number = event->number;
        return;
    }
    if (event->code < 0) {
        lose(core, object);
        return;
    }
    gw_memory_remove(core, object);
    object->token = event->tokens[0];
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_OPEN);
    gw_memory_add(core, object);
    serve(core, object, object->waiters.items, object->waiters.count);
    gw_array_clear(&object->waiters);
    if (!object->users)
        gw_spill_close(core, object);
}
