/* Objects on disk: written when memory is short, opened again when somebody wants them.
 *
 * Always: while an object is written its memory stays; it is let go only when the file is there,
 * and readers get the file itself from then on, which takes no memory that the system could not
 * have back. A file that is not what was written is a lost object, never a wrong one. A number of a
 * file is used once: an answer that comes after its object has gone finds nothing and is undone. */
#include "worker/core/objects/spill.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/answer.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/result_memfd.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)
#define PAUSE_FIRST_NS SECOND /* after a write that failed; doubled up to the last */
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

/* The object that an answer is about, NULL where it has gone; the answer is no more awaited. */
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

/* The disk is full, or broken: results stay in memory, and it is tried again later. */
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

/* Closes the file of an object that nobody uses: it takes no descriptor then. */
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

/* -- The end -------------------------------------------------------------------------------------
 */

void gw_spill_forget(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_memory *memory = &core->memory;
    struct gw_object_waiter *waiter;
    GW_ARRAY_EACH (&object->waiters, waiter)
        gw_answer_waiter(core, waiter, NULL); /* a run that waits is a user, and being freed */
    gw_array_clear(&object->waiters);
    if (object->state == GW_OBJECT_SPILLING)
        memory->spilling_bytes -= object->bytes;
    if (gw_map_get(&memory->files, object->file, NULL))
        GW_MUST(gw_map_put(&memory->files, object->file, 0)); /* its answer undoes it */
    else if (object->file)
        unlink_file(core, object->file);
    object->file = 0;
}
