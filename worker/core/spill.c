/* Objects on disk: written when memory is short, opened again when somebody wants them.
 *
 * Always: while an object is written its memory stays; it is let go only when the file is there,
 * and readers get the file itself from then on, which takes no memory that the system could not
 * have back. A file that is not what was written is a lost object, never a wrong one. A number of a
 * file is used once: an answer that comes after its object has gone finds nothing and is undone. */
#include "worker/core/spill.h"

#include "graph/base/planted.h"
#include "worker/core/core.h"
#include "worker/core/memfile.h"
#include "worker/core/memory.h"
#include "worker/core/run.h"
#include "worker/core/store.h"

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
static struct gw_object *answered(struct gw_node_core *core, uint64_t file)
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
    uint64_t *token = gw_core_scratch(core, sizeof *token);
    *token = object->token;
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_SPILL);
    effect->number = object->file;
    effect->size = object->bytes;
    effect->tokens = token;
    effect->token_count = 1;
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

static void on_spilled(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_memory *memory = &core->memory;
    struct gw_object *object = answered(core, event->number);
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
        if (!GW_PLANTED(111))
            unlink_file(core, event->number);
        return;
    }
    gw_memory_remove(core, object);
    if (object->memfile)
        gw_memfile_vacate(core, object);
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

static bool still_waits(const struct gw_object_waiter *waiter)
{
    return waiter->run && waiter->run->serial == waiter->serial &&
           waiter->run->state == GW_RUN_WAITING;
}

static struct gw_node_link *link_of(const struct gw_node_core *core, uint64_t peer)
{
    uint64_t value;
    return gw_map_get(&core->links, peer, &value) ? (struct gw_node_link *)(uintptr_t)value : NULL;
}

/* All who wait for the object get it, or hear (object NULL) that it is not to be had. */
static void serve(struct gw_node_core *core, const struct gw_object *object,
                  const struct gw_object_waiter *waiters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gw_object_waiter *waiter = &waiters[i];
        struct gw_node_link *link = waiter->run ? NULL : link_of(core, waiter->peer);
        if (link) {
            gw_object_answer(core, link, waiter->request, object);
        } else if (still_waits(waiter) && object) {
            if (--waiter->run->missing == 0)
                gw_run_ready(core, waiter->run);
        } else if (still_waits(waiter)) {
            struct gw_run_end end = {.outcome = GW_OUTCOME_LOST_INPUT, .code = GW_ELOST};
            end.text = gw_core_strdup("an input is lost: its copy on disk is damaged");
            gw_run_end(core, waiter->run, end, 0);
        }
    }
}

/* The scheduler hears first that the object is gone, then of the runs that miss it. */
static void lose(struct gw_node_core *core, struct gw_object *object)
{
    if (core->registered && object->job)
        gw_core_send(core, core->scheduler, GW_MESSAGE_object_lost)->message.object_lost =
            (struct gw_msg_object_lost){object->job->id, object->index, object->rank, core->worker};
    size_t count = object->waiters.count;
    struct gw_object_waiter *waiters = object->waiters.items;
    object->waiters.items = NULL;
    object->waiters.count = object->waiters.capacity = 0;
    object->users++; /* it outlives those runs */
    object->released = true;
    serve(core, NULL, waiters, count);
    free(waiters);
    gw_object_unuse(core, object);
}

static void on_restored(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_object *object = answered(core, event->number);
    if (!object) {
        if (event->code == 0)
            gw_core_drop_token(core, event->tokens[0]);
        unlink_file(core, event->number);
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

/* -- The end -------------------------------------------------------------------------------------
 */

void gw_spill_forget(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_memory *memory = &core->memory;
    struct gw_object_waiter *waiter;
    GW_ARRAY_EACH (&object->waiters, waiter)
        if (!waiter->run) /* a run that waits is a user: there is none, or it is just being freed */
            serve(core, NULL, waiter, 1);
    gw_array_clear(&object->waiters);
    if (object->state == GW_OBJECT_SPILLING)
        memory->spilling_bytes -= object->bytes;
    if (gw_map_get(&memory->files, object->file, NULL))
        GW_MUST(gw_map_put(&memory->files, object->file, 0)); /* its answer undoes it */
    else if (object->file)
        unlink_file(core, object->file);
    object->file = 0;
}

void gw_spill_on_event(struct gw_node_core *core, const struct gw_event *event)
{
    if (event->type == GW_EVENT_SPILLED)
        on_spilled(core, event);
    else
        on_restored(core, event);
}
