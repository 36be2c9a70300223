/* Objects: results of tasks that this worker holds, and their users.
 *
 * Invariants: a released object is kept only for attempts that have it as an input. Each object's
 * bytes are counted once. The object of an ordinary task has rank 0, and is also found by
 * GW_RANK_NONE. If the object of another attempt has replaced an object (its job is NULL), the old
 * one is freed with its last user. memory.c and spill.c know if an object is in memory or on disk.
 */
#include "worker/core/objects/object.h"

#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/answer.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/result_memfd.h"
#include "worker/core/objects/spill.h"
#include "worker/core/objects/workdir_retention.h"

#include <assert.h>
#include <stdlib.h>

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

static void free_memory(struct gw_object *object)
{
    gw_array_deinit(&object->waiters);
    free(object->value);
    free(object);
}

/* Releases everything that an object holds, and frees it. */
static void discard(struct gw_node_core *core, struct gw_object *object)
{
    core->object_bytes -= object->bytes;
    gw_memory_remove(core, object);
    if (object->memfile)
        gw_result_memfd_release(core, object);
    gw_spill_forget(core, object);
    if (object->token)
        gw_core_drop_token(core, object->token);
    gw_sm_move(&gw_object_sm, &object->state, GW_OBJECT_GONE);
    free_memory(object);
}

/* Removes the object of an earlier attempt. Attempts that have it as an input keep it. */
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

void gw_object_on_forget(struct gw_node_core *core, uint64_t id)
{
    struct gw_node_job *job = gw_core_job(core, id, false);
    gw_workdir_retention_on_forget(core, id);
    if (!job)
        return;
    gw_job_forget_specs(core, job);
    bool more = true;
    while (more) { /* freeing an object changes the table, so start again */
        size_t at = 0;
        uint64_t key, value;
        more = false;
        while (!more && gw_map_next(&job->objects, &at, &key, &value)) {
            struct gw_object *object = (struct gw_object *)(uintptr_t)value;
            object->released = true;
            more = !object->users;
            if (more && job->objects.count == 1 && !job->fetches.count) {
                gw_object_free(core, object); /* frees the job, too */
                return;
            }
            if (more)
                gw_object_free(core, object);
        }
    }
    gw_job_tidy(core, job);
}

void gw_object_free_all(struct gw_node_core *core)
{
    size_t at = 0, inner;
    uint64_t key, value, object;
    while (gw_map_next(&core->jobs, &at, &key, &value)) {
        struct gw_node_job *job = (struct gw_node_job *)(uintptr_t)value;
        for (inner = 0; gw_map_next(&job->objects, &inner, &key, &object);)
            free_memory((struct gw_object *)(uintptr_t)object);
    }
    for (size_t i = 0; i < core->replaced.count; i++)
        free_memory(core->replaced.items[i]);
}

/* -- Users ---------------------------------------------------------------------------------------
 */

bool gw_object_use(struct gw_node_core *core, struct gw_object *object, struct gw_attempt *run,
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

void gw_object_pin(struct gw_node_core *core, struct gw_attempt *run)
{
    assert(!run->pinned);
    run->pinned = true;
    for (uint32_t i = 0; i < run->dep_count; i++)
        if (run->deps[i].object) {
            run->deps[i].object->pins++;
            gw_memory_rank(core, run->deps[i].object);
        }
}

void gw_object_unpin(struct gw_node_core *core, struct gw_attempt *run)
{
    if (!run->pinned)
        return;
    gw_result_memfd_forsake(core, run);
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
        gw_memory_rank(core, object); /* used now, so it becomes the most recently used */
    gw_answer_send(core, link, fetch->request, object);
}
