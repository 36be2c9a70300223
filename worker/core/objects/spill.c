/* Writes objects to disk if memory is short, and opens their files when they are needed.
 *
 * Invariants: the memory of an object is freed only after its file is complete. Readers then get a
 * descriptor of the file, whose cached pages the kernel can free. If a file does not match what was
 * written, the object is lost. Wrong data is never returned. The number of a file is used only
 * once. If the object was freed before the reply to its request arrives, the reply finds no object
 * and its effect is undone. */
#include "worker/core/objects/spill.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/answer.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/result_memfd.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)
/* After a failed write; doubled after each further failure, up to PAUSE_LAST_NS */
#define PAUSE_FIRST_NS SECOND
#define PAUSE_LAST_NS (60 * SECOND)

static const struct gw_sm_state object_states[] = {
    [GW_OBJECT_RESIDENT] = {"resident",
                            GW_SM_NEXT(GW_OBJECT_SPILLING) | GW_SM_NEXT(GW_OBJECT_GONE)},
    [GW_OBJECT_SPILLING] = {"spilling",
                            GW_SM_NEXT(GW_OBJECT_RESIDENT) | GW_SM_NEXT(GW_OBJECT_SPILLED) |
                                GW_SM_NEXT(GW_OBJECT_OPEN) | GW_SM_NEXT(GW_OBJECT_GONE)},
    [GW_OBJECT_SPILLED] = {"spilled", GW_SM_NEXT(GW_OBJECT_OPENING) | GW_SM_NEXT(GW_OBJECT_GONE)},
    [GW_OBJECT_OPENING] = {"opening", GW_SM_NEXT(GW_OBJECT_OPEN) | GW_SM_NEXT(GW_OBJECT_GONE)},
    [GW_OBJECT_OPEN] = {"open", GW_SM_NEXT(GW_OBJECT_SPILLED) | GW_SM_NEXT(GW_OBJECT_GONE)},
    [GW_OBJECT_GONE] = {"gone", 0},
};
struct gw_sm gw_object_sm = {"worker object", object_states,
                             sizeof object_states / sizeof *object_states, NULL};

static void unlink_file(struct gw_node_core *core, uint64_t file)
{
    gw_core_effect(core, GW_EFFECT_UNLINK)->number = file;
}

/* Returns the object that a reply is about, or NULL if the object was freed. Removes the request.
 */
struct gw_object *gw_spill_answered(struct gw_node_core *core, uint64_t file)
{
    uint64_t value = 0;
    bool known = gw_map_get(&core->memory.files, file, &value);
    assert(known);
    (void)known;
    gw_map_remove(&core->memory.files, file);
    return (struct gw_object *)(uintptr_t)value;
}

/* -- Writing -------------------------------------------------------------------------------------
 */

void gw_spill_write(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_memory *memory = &core->memory;
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_SPILLING);
    gw_memory_rank(core, object);
    object->file = ++memory->last_file;
    memory->spilling++;
    memory->spilling_bytes += object->bytes;
    GW_MUST(gw_map_put(&memory->files, object->file, (uintptr_t)object));
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_SPILL);
    effect->number = object->file;
    effect->size = object->bytes;
    gw_core_token(core, effect, object->token);
}

/* Handles a failed write: the disk is full or broken. The result stays in memory. The next write is
 * tried after a pause. */
static void write_failed(struct gw_node_core *core, struct gw_object *object,
                         const struct gw_event *event)
{
    struct gw_memory *memory = &core->memory;
    memory->pause_ns = memory->pause_ns ? memory->pause_ns * 2 : PAUSE_FIRST_NS;
    if (memory->pause_ns > PAUSE_LAST_NS)
        memory->pause_ns = PAUSE_LAST_NS;
    memory->retry_ns = core->now_ns + memory->pause_ns;
    free(memory->trouble);
    memory->trouble = gw_core_strdup(event->text);
    if (!object)
        return;
    object->file = 0;
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_RESIDENT);
    gw_memory_rank(core, object);
}

void gw_spill_on_spilled(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_memory *memory = &core->memory;
    struct gw_object *object = gw_spill_answered(core, event->number);
    memory->spilling--;
    if (object)
        memory->spilling_bytes -= object->bytes;
    if (event->code < 0) {
        write_failed(core, object, event);
        return;
    }
    free(memory->trouble);
    memory->trouble = NULL;
    memory->pause_ns = memory->retry_ns = 0;
    if (!object) {
        gw_core_drop_token(core, event->tokens[0]);
        unlink_file(core, event->number);
        return;
    }
    gw_memory_remove(core, object);
    if (object->memfile)
        gw_result_memfd_vacate(core, object);
    else
        gw_core_drop_token(core, object->token);
    memory->written_bytes += object->bytes;
    object->checksum = event->checksum;
    object->token = object->users ? event->tokens[0] : 0;
    gw_sm_move(&gw_object_sm, &object->state, object->users ? GW_OBJECT_OPEN : GW_OBJECT_SPILLED);
    if (!object->token)
        gw_core_drop_token(core, event->tokens[0]);
    gw_memory_add(core, object);
}

/* -- Reading -------------------------------------------------------------------------------------
 */

void gw_spill_open(struct gw_node_core *core, struct gw_object *object,
                   struct gw_object_waiter waiter)
{
    GW_MUST(gw_array_push(&object->waiters, waiter));
    if (object->state == GW_OBJECT_OPENING)
        return;
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_OPENING);
    GW_MUST(gw_map_put(&core->memory.files, object->file, (uintptr_t)object));
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_RESTORE);
    effect->number = object->file;
    effect->size = object->bytes;
    effect->checksum = object->checksum;
}

/* Closes the file of an object without users, to save the descriptor. */
void gw_spill_close(struct gw_node_core *core, struct gw_object *object)
{
    if (object->state != GW_OBJECT_OPEN)
        return;
    gw_memory_remove(core, object);
    gw_core_drop_token(core, object->token);
    object->token = 0;
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_SPILLED);
    gw_memory_add(core, object);
}

/* -- Freeing -------------------------------------------------------------------------------------
 */

void gw_spill_forget(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_memory *memory = &core->memory;
    struct gw_object_waiter *waiter;
    GW_ARRAY_EACH (&object->waiters, waiter)
        gw_answer_waiter(
            core, waiter,
            NULL); /* attempts get no answer: they are users of the object and are being freed */
    gw_array_clear(&object->waiters);
    if (object->state == GW_OBJECT_SPILLING)
        memory->spilling_bytes -= object->bytes;
    if (gw_map_get(&memory->files, object->file, NULL))
        GW_MUST(gw_map_put(&memory->files, object->file,
                           0)); /* the reply to the request will remove the file */
    else if (object->file)
        unlink_file(core, object->file);
    object->file = 0;
}
