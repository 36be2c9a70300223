/* Calls of actors on their way out. They gather while the loop thread is busy with others, and what
 * has gathered becomes one job, whose number comes later: a future may be given out, given up and
 * waited for before that. What holds: calls of one actor leave in the order in which they were
 * made; a bundle of calls counts itself as held until the scheduler has answered. */
#include "client/actor.h"

#include "client/answer.h"
#include "client/record.h"
#include "graph/base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 4, CAPACITY_MAX = 2048, SPECS_MAX = 64 };

static bool same_spec(const struct gw_batch_spec *a, const struct gw_batch_spec *b)
{
    return a->function == b->function && a->retries == b->retries && a->priority == b->priority &&
           a->wall_ns == b->wall_ns;
}

/* -- Sending -------------------------------------------------------------------------------------
 */

static int put_spec(const struct gw_actor *actor, uint32_t number)
{
    const struct gw_batch_spec *spec = &actor->batch.specs.items[number];
    struct gw_message message = {
        .type = GW_MESSAGE_spec,
        .spec = {.key = actor->batch.bundle->request,
                 .number = number,
                 .kind = GW_SPEC_FUNCTION,
                 .program = {actor->client->program->hash, GW_HASH_BYTES},
                 .function = spec->function->name,
                 .argv = {"\x90", 1},
                 .env = {"\x90", 1},
                 .cwd = "",
                 .slots = 1,
                 .priority = spec->priority,
                 .retries = spec->retries,
                 .wall_ns = spec->wall_ns,
                 .grace_ns = 10 * GW_NS_PER_S,
                 .fail_grace_ns = 200 * GW_NS_PER_MS,
                 .resources = "",
                 .workers = "",
                 .annotations = "",
                 .actor = actor->job,
                 .actor_name = ""},
    };
    return gw_io_put(actor->client->io, &message, -1);
}

static int put_batch(struct gw_actor *actor)
{
    struct gw_call_batch *batch = &actor->batch;
    struct gw_message message = {
        .type = GW_MESSAGE_submit,
        .submit = {.request = batch->bundle->request,
                   .flags = GW_SUBMIT_LAST,
                   .name = batch->specs.items[0].function->name},
    };
    int rc = 0;
    for (uint32_t i = 0; i < batch->specs.count && rc == 0; i++)
        rc = put_spec(actor, i);
    gw_chunk_columns(&batch->chunk, &message.submit);
    uint64_t *room = NULL;
    if (rc == 0)
        rc = gw_record_rename(&message, &room);
    if (rc == 0)
        rc = gw_io_put(actor->client->io, &message, -1);
    free(room);
    return rc;
}

/* Nothing will be told of these calls. */
static void fail_bundle(struct gw_bundle *bundle, int code, const char *text)
{
    for (uint32_t i = 0; i < bundle->count; i++)
        if (!bundle->futures[i].released && gw_future_state(&bundle->futures[i]) == GW_PENDING)
            gw_bundle_set_failure(&bundle->futures[i], gw_failure_new(code, 0, 0, text));
}

/* Sends what has gathered; the client's lock is held. */
static void flush(struct gw_actor *actor)
{
    struct gw_call_batch *batch = &actor->batch;
    struct gw_bundle *bundle = batch->bundle;
    struct gw_client *client = actor->client;
    if (!bundle)
        return;
    int rc = client->closed || client->down.code ? GW_ECLOSED : put_batch(actor);
    bundle->scattered = batch->scattered.items;
    bundle->scattered_count = (uint32_t)batch->scattered.count;
    batch->scattered.items = NULL;
    batch->scattered.count = batch->scattered.capacity = 0;
    if (batch->rows == batch->capacity && batch->capacity < CAPACITY_MAX)
        batch->capacity *= 2;
    else if (batch->rows < batch->capacity / 4 && batch->capacity > CAPACITY_MIN)
        batch->capacity /= 2;
    bundle->gathering = false;
    batch->bundle = NULL;
    batch->rows = 0;
    gw_array_clear(&batch->specs);
    gw_chunk_clear(&batch->chunk);
    if (rc < 0) /* its own count goes with the connection */
        fail_bundle(bundle, rc, rc == GW_ECLOSED ? "the connection is closed" : gw_error_text(rc));
}

void gw_actors_flush(struct gw_client *client)
{
    while (client->unsent) {
        struct gw_actor *actor = client->unsent;
        client->unsent = actor->unsent;
        actor->is_unsent = false;
        flush(actor);
    }
}

/* -- Gathering -----------------------------------------------------------------------------------
 */

/* A bundle with room for futures, none of them given out yet. */
static int open_batch(struct gw_actor *actor, struct gw_error *error)
{
    struct gw_client *client = actor->client;
    struct gw_call_batch *batch = &actor->batch;
    if (!batch->capacity)
        batch->capacity = CAPACITY_MIN;
    uint64_t request = ++client->last_request;
    uint32_t capacity = batch->capacity;
    pthread_mutex_unlock(&client->lock);
    struct gw_bundle *bundle = gw_bundle_new(client, request, NULL, capacity);
    pthread_mutex_lock(&client->lock);
    if (!bundle)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    bundle->count = bundle->pending = 0;
    bundle->live = 0;
    gw_answer_open(bundle, false);
    bundle->gathering = true;
    bundle->own = gw_client_is_actor(client, actor->job);
    if (batch->bundle) { /* another thread was faster */
        (void)gw_map_remove(&client->bundles, request);
        client->refs--;
        free(bundle);
        return 0;
    }
    batch->bundle = bundle;
    return 0;
}

static int spec_of(struct gw_call_batch *batch, const struct gw_batch_spec *spec, uint32_t *number)
{
    for (size_t i = batch->specs.count; i-- > 0;)
        if (same_spec(&batch->specs.items[i], spec)) {
            *number = (uint32_t)i;
            return 0;
        }
    *number = (uint32_t)batch->specs.count;
    return gw_array_push(&batch->specs, *spec);
}

static int append(struct gw_actor *actor, const struct gw_actor_row *from,
                  struct gw_future **future)
{
    struct gw_call_batch *batch = &actor->batch;
    struct gw_chunk_row row = from->row;
    row.row = batch->rows;
    row.target = future != NULL;
    int rc = spec_of(batch, &from->spec, &row.spec);
    for (uint32_t i = 0; i < from->scattered_count && rc == 0; i++)
        rc = gw_array_push(&batch->scattered, from->scattered[i]);
    if (rc == 0)
        rc = gw_chunk_add(&batch->chunk, &row);
    if (rc < 0)
        return rc;
    struct gw_bundle *bundle = batch->bundle;
    struct gw_future *made = &bundle->futures[batch->rows++];
    bundle->count++;
    made->released = !future;
    if (future) {
        bundle->live++;
        bundle->pending++;
        *future = made;
    }
    return 0;
}

int gw_actor_add(struct gw_actor *actor, const struct gw_actor_row *row, struct gw_future **future,
                 struct gw_error *error)
{
    struct gw_client *client = actor->client;
    struct gw_call_batch *batch = &actor->batch;
    int rc = gw_io_room(client->io);
    pthread_mutex_lock(&client->lock);
    if (rc == 0 && (client->closed || client->down.code))
        rc = GW_ECLOSED;
    if (rc == 0 && batch->bundle &&
        (batch->rows == batch->capacity || batch->specs.count == SPECS_MAX ||
         gw_chunk_bytes(&batch->chunk) + gw_chunk_row_bytes(&row->row) > GW_CHUNK_BYTES))
        flush(actor);
    while (rc == 0 && !batch->bundle)
        rc = open_batch(actor, error);
    if (rc == 0 && (rc = append(actor, row, future)) < 0)
        gw_error_set(error, rc, "out of memory");
    bool wake = rc == 0 && !actor->is_unsent;
    if (wake) {
        actor->is_unsent = true;
        actor->unsent = client->unsent;
        client->unsent = actor;
    }
    pthread_mutex_unlock(&client->lock);
    if (wake)
        gw_io_wake(client->io);
    return rc == GW_ECLOSED ? gw_client_down_error(client, error) : rc;
}
