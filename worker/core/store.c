/* Objects: results of tasks that lie at this worker, and who gets them.
 *
 * Always: an object that was released is only kept for runs that have it as an input; bytes are
 * counted once. An ordinary task's object has rank 0, and answers to GW_RANK_NONE too. */
#include "worker/core/state.h"

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

struct gw_object *gw_object_put(struct gw_node_core *core, const struct gw_object *like)
{
    struct gw_node_job *job = like->job;
    uint64_t value;
    if (gw_map_get(&job->objects, object_key(like->index, like->rank), &value)) {
        struct gw_object *old = (struct gw_object *)(uintptr_t)value; /* an earlier attempt's */
        core->object_bytes += like->bytes - old->bytes;
        if (old->token)
            gw_core_drop_token(core, old->token);
        free(old->value);
        old->token = like->token;
        old->bytes = like->bytes;
        old->value = like->value;
        old->released = false;
        return old;
    }
    struct gw_object *object = gw_core_alloc(sizeof *object);
    *object = *like;
    core->object_bytes += like->bytes;
    GW_MUST(gw_map_put(&job->objects, object_key(like->index, like->rank), (uintptr_t)object));
    return object;
}

void gw_object_free(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_node_job *job = object->job;
    gw_map_remove(&job->objects, object_key(object->index, object->rank));
    core->object_bytes -= object->bytes;
    if (object->token)
        gw_core_drop_token(core, object->token);
    free(object->value);
    free(object);
    gw_job_tidy(core, job);
}

void gw_object_unuse(struct gw_node_core *core, struct gw_object *object)
{
    if (--object->users == 0 && object->released)
        gw_object_free(core, object);
}

void gw_object_on_release(struct gw_node_core *core, const struct gw_msg_release *release)
{
    for (uint32_t i = 0; i < release->job.count; i++) {
        struct gw_object *object =
            gw_object_find(core, gw_col64_at(release->job, i), gw_col32_at(release->index, i),
                           gw_col32_at(release->rank, i));
        if (!object)
            continue;
        object->released = true;
        if (!object->users)
            gw_object_free(core, object);
    }
}

void gw_object_on_fetch(struct gw_node_core *core, struct gw_node_link *link,
                        const struct gw_msg_fetch *fetch)
{
    struct gw_object *object = gw_object_find(core, fetch->job, fetch->index, fetch->rank);
    struct gw_effect *effect = gw_core_send(core, link, GW_MESSAGE_object);
    struct gw_msg_object *answer = &effect->message.object;
    answer->request = fetch->request;
    answer->text = "";
    if (!object) {
        answer->code = GW_ENOENT;
        answer->text = "this worker does not hold the object";
    } else if (object->token) {
        answer->bytes = object->bytes;
        effect->tokens = &object->token; /* sent before anything can free it */
        effect->token_count = 1;
    } else {
        void *copy = gw_core_scratch(core, object->bytes);
        memcpy(copy, object->value, object->bytes);
        answer->bytes = object->bytes;
        answer->value = (struct gw_bin){copy, (uint32_t)object->bytes};
    }
}
