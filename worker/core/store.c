/* Objects: results of tasks that lie at this worker, and who gets them.
 *
 * Always: an object that was released is only kept for runs that have it as an input; bytes are
 * counted once. An ordinary task's object has rank 0, and answers to GW_RANK_NONE too. An object
 * whose place another attempt's has taken (job NULL) goes with its last user. Where an object is,
 * in memory or on disk, is for memory.c and spill.c to say. */
#include "worker/core/store.h"

#include "worker/core/core.h"
#include "worker/core/fetch.h"
#include "worker/core/job.h"
#include "worker/core/memfile.h"
#include "worker/core/memory.h"
#include "worker/core/spill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t object_key(uint32_t index, uint32_t rank)
{
    return (uint64_t)index << 32 | rank;
}

struct gw_object *gw_object_find(struct gw_node_core *core, uint64_t job_id, uint32_t index,
                                 uint32_t rank)
{
    uint64_t value;
    struct gw_node_job *job = gw_core_job(core, job_id, false);
    if (!job)
        return NULL;
    if (!gw_map_get(&job->objects, object_key(index, rank == GW_RANK_NONE ? 0 : rank), &value))
        return NULL;
    return (struct gw_object *)(uintptr_t)value;
}

bool gw_node_core_holds(struct gw_node_core *core, uint64_t job, uint32_t index, uint32_t rank)
{
    const struct gw_object *object = gw_object_find(core, job, index, rank);
    return object && !object->released;
}

/* Lets go of what an object has, and of itself. */
static void discard(struct gw_node_core *core, struct gw_object *object)
{
    core->object_bytes -= object->bytes;
    gw_memory_remove(core, object);
    if (object->memfile)
        gw_memfile_release(core, object);
    gw_spill_forget(core, object);
    if (object->token)
        gw_core_drop_token(core, object->token);
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_GONE);
    gw_object_release(object);
}

void gw_object_release(struct gw_object *object)
{
    gw_array_deinit(&object->waiters);
    free(object->value);
    free(object);
}

/* An earlier attempt's makes room: whoever has it as an input keeps it. */
static void make_room(struct gw_node_core *core, struct gw_object *old)
{
    gw_map_remove(&old->job->objects, object_key(old->index, old->rank));
    old->job = NULL;
    old->released = true;
    if (!old->users)
        discard(core, old);
    else
        GW_MUST(gw_array_push(&core->replaced, old));
}

struct gw_object *gw_object_put(struct gw_node_core *core, const struct gw_object *like)
{
    struct gw_node_job *job = like->job;
    uint64_t value;
    if (gw_map_get(&job->objects, object_key(like->index, like->rank), &value))
        make_room(core, (struct gw_object *)(uintptr_t)value);
    struct gw_object *object = gw_core_alloc(sizeof *object);
    *object = *like;
    core->object_bytes += like->bytes;
    GW_MUST(gw_map_put(&job->objects, object_key(like->index, like->rank), (uintptr_t)object));
    gw_memory_add(core, object);
    return object;
}

void gw_object_free(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_node_job *job = object->job;
    if (job)
        gw_map_remove(&job->objects, object_key(object->index, object->rank));
    for (size_t i = 0; !job && i < core->replaced.count; i++)
        if (core->replaced.items[i] == object) {
            gw_array_remove_swap(&core->replaced, i);
            break;
        }
    discard(core, object);
    if (job)
        gw_job_tidy(core, job);
}

/* -- Users ---------------------------------------------------------------------------------------
 */

bool gw_object_use(struct gw_node_core *core, struct gw_object *object, struct gw_run *run,
                   uint32_t dep)
{
    run->deps[dep].object = object;
    object->users++;
    gw_memory_rank(core, object);
    if (object->state != GW_OBJECT_SPILLED && object->state != GW_OBJECT_OPENING)
        return true;
    run->missing++;
    gw_spill_open(core, object, (struct gw_object_waiter){.run = run, .serial = run->serial});
    return false;
}

void gw_object_unuse(struct gw_node_core *core, struct gw_object *object)
{
    assert(object->users > 0);
    if (--object->users == 0 && object->released) {
        gw_object_free(core, object);
        return;
    }
    if (!object->users)
        gw_spill_close(core, object);
    gw_memory_rank(core, object);
}

void gw_object_pin(struct gw_node_core *core, struct gw_run *run)
{
    assert(!run->pinned);
    run->pinned = true;
    for (uint32_t i = 0; i < run->dep_count; i++)
        if (run->deps[i].object) {
            run->deps[i].object->pins++;
            gw_memory_rank(core, run->deps[i].object);
        }
}

void gw_object_unpin(struct gw_node_core *core, struct gw_run *run)
{
    if (!run->pinned)
        return;
    gw_memfile_forsake(core, run);
    run->pinned = false;
    for (uint32_t i = 0; i < run->dep_count; i++)
        if (run->deps[i].object) {
            run->deps[i].object->pins--;
            gw_memory_rank(core, run->deps[i].object);
        }
}

/* -- Messages ------------------------------------------------------------------------------------
 */

void gw_object_list(struct gw_node_core *core, struct gw_msg_registration *message)
{
    size_t count = 0, at = 0, inner;
    uint64_t key, value, place, object;
    while (gw_map_next(&core->jobs, &at, &key, &value))
        count += ((struct gw_node_job *)(uintptr_t)value)->objects.count;
    uint64_t *jobs = gw_core_scratch(core, count * sizeof *jobs);
    uint64_t *bytes = gw_core_scratch(core, count * sizeof *bytes);
    uint64_t *attempts = gw_core_scratch(core, count * sizeof *attempts);
    uint32_t *indices = gw_core_scratch(core, count * sizeof *indices);
    uint32_t *ranks = gw_core_scratch(core, count * sizeof *ranks), n = 0;
    for (at = 0; gw_map_next(&core->jobs, &at, &key, &value);) {
        const struct gw_node_job *job = (struct gw_node_job *)(uintptr_t)value;
        for (inner = 0; gw_map_next(&job->objects, &inner, &place, &object);) {
            const struct gw_object *held = (struct gw_object *)(uintptr_t)object;
            if (held->released)
                continue;
            jobs[n] = key;
            indices[n] = held->index;
            ranks[n] = held->rank;
            attempts[n] = held->attempt;
            bytes[n++] = held->bytes;
        }
    }
    message->object_job = (struct gw_col64){jobs, n};
    message->object_index = (struct gw_col32){indices, n};
    message->object_rank = (struct gw_col32){ranks, n};
    message->object_bytes = (struct gw_col64){bytes, n};
    message->object_attempt = (struct gw_col64){attempts, n};
}

void gw_object_on_release(struct gw_node_core *core, const struct gw_msg_release *release)
{
    for (uint32_t i = 0; i < release->job.count; i++) {
        struct gw_object *object =
            gw_object_find(core, gw_col64_at(release->job, i), gw_col32_at(release->index, i),
                           gw_col32_at(release->rank, i));
        gw_fetch_release(core, gw_col64_at(release->job, i), gw_col32_at(release->index, i),
                         gw_col32_at(release->rank, i));
        if (!object)
            continue;
        object->released = true;
        if (!object->users)
            gw_object_free(core, object);
    }
}

void gw_object_answer(struct gw_node_core *core, struct gw_node_link *link, uint64_t request,
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
        uint64_t *token = gw_core_scratch(core, sizeof *token);
        *token = object->token; /* sent before anything can close it */
        gw_memfile_leave(object);
        answer->bytes = object->bytes;
        effect->tokens = token;
        effect->token_count = 1;
    } else {
        void *copy = gw_core_scratch(core, object->bytes);
        memcpy(copy, object->value, object->bytes);
        answer->bytes = object->bytes;
        answer->value = (struct gw_bin){copy, (uint32_t)object->bytes};
    }
}

void gw_object_on_fetch(struct gw_node_core *core, struct gw_node_link *link,
                        const struct gw_msg_fetch *fetch)
{
    struct gw_object *object = gw_object_find(core, fetch->job, fetch->index, fetch->rank);
    if (object && (object->state == GW_OBJECT_SPILLED || object->state == GW_OBJECT_OPENING)) {
        gw_spill_open(core, object,
                      (struct gw_object_waiter){.peer = link->peer.id, .request = fetch->request});
        return;
    }
    if (object)
        gw_memory_rank(core, object); /* used now: it is the newest */
    gw_object_answer(core, link, fetch->request, object);
}
