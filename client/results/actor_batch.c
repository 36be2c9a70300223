/* Calls of actors on their way to the scheduler. Calls gather while the loop thread is busy. All
 * gathered calls of an actor are then sent as one job. The job number is known later, so a future
 * may be returned, waited for and released before it has a job number.
 *
 * Invariants: calls of one actor leave in the order in which they were made. A group of calls
 * counts as held until the scheduler has answered. */
#include "client/results/actor_batch.h"

#include "client/results/resubmit_log.h"
#include "graph/base/clock.h"
#include "worker/runner/actor.h"
#include "worker/runner/task.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 4, CAPACITY_MAX = 2048, SPECS_MAX = 64 };

static bool same_spec(const struct gw_actor_batch_spec *a, const struct gw_actor_batch_spec *b)
{
    return a->function == b->function && a->retries == b->retries && a->priority == b->priority &&
           a->time_limit_ns == b->time_limit_ns &&
           a->inactivity_timeout_ns == b->inactivity_timeout_ns;
}

/* -- Sending -------------------------------------------------------------------------------------
 */

static int put_spec(const struct gw_actor_batch *calls, uint32_t number)
{
    const struct gw_actor_batch_spec *spec = &calls->specs.items[number];
    struct gw_message message = {
        .type = GW_MESSAGE_spec,
        .spec = {.key = calls->group->request,
                 .number = number,
                 .kind = GW_SPEC_FUNCTION,
                 .program = {calls->client->program->hash, GW_HASH_BYTES},
                 .function = spec->function->name,
                 .argv = {"\x90", 1},
                 .env = {"\x90", 1},
                 .cwd = "",
                 .slots = 1,
                 .priority = spec->priority,
                 .retries = spec->retries,
                 .time_limit_ns = spec->time_limit_ns,
                 .inactivity_timeout_ns = spec->inactivity_timeout_ns,
                 .grace_ns = 10 * GW_NS_PER_S,
                 .fail_grace_ns = 200 * GW_NS_PER_MS,
                 .resources = "",
                 .workers = "",
                 .annotations = "",
                 .actor = calls->actor,
                 .actor_name = ""},
    };
    return gw_io_put(calls->client->io, &message, -1);
}

static int put_batch(struct gw_actor_batch *calls)
{
    struct gw_message message = {
        .type = GW_MESSAGE_submit,
        .submit = {.request = calls->group->request,
                   .flags = GW_SUBMIT_LAST,
                   .name = calls->specs.items[0].function->name},
    };
    int rc = 0;
    for (uint32_t i = 0; i < calls->specs.count && rc == 0; i++)
        rc = put_spec(calls, i);
    gw_chunk_columns(&calls->chunk, &message.submit);
    uint64_t *room = NULL;
    if (rc == 0)
        rc = gw_resubmit_log_rename(&message, &room);
    if (rc == 0)
        rc = gw_io_put(calls->client->io, &message, -1);
    free(room);
    return rc;
}

/* Sends the calls that have gathered. The client's lock is held. */
static void flush(struct gw_actor_batch *calls)
{
    struct gw_future_group *group = calls->group;
    struct gw_client *client = calls->client;
    if (!group)
        return;
    int rc = client->closed || client->down.code ? GW_ECLOSED : put_batch(calls);
    group->scattered = calls->scattered.items;
    group->scattered_count = (uint32_t)calls->scattered.count;
    calls->scattered.items = NULL;
    calls->scattered.count = calls->scattered.capacity = 0;
    if (calls->rows == calls->capacity && calls->capacity < CAPACITY_MAX)
        calls->capacity *= 2;
    else if (calls->rows < calls->capacity / 4 && calls->capacity > CAPACITY_MIN)
        calls->capacity /= 2;
    group->unsent = false;
    calls->group = NULL;
    calls->rows = 0;
    gw_array_clear(&calls->specs);
    gw_chunk_clear(&calls->chunk);
    if (rc == 0)
        return;
    struct gw_error error; /* the scheduler sends nothing about these calls;
                              gw_deferred_accepts_closed drops the group's own count */
    gw_error_set(&error, rc, "%s",
                 rc == GW_ECLOSED ? "the connection is closed" : gw_error_text(rc));
    gw_future_group_fail_pending(group, &error);
}

void gw_actor_batch_flush(struct gw_client *client)
{
    while (client->unsent) {
        struct gw_actor_batch *calls = client->unsent;
        client->unsent = calls->unsent;
        calls->is_unsent = false;
        flush(calls);
    }
}

/* -- Gathering calls ----------------------------------------------------------------------------
 */

/* Whether this client runs inside a call of the actor with this job, or inside the task that makes
 * the actor. Calls that such a client makes of the same actor start only after the present call has
 * ended. */
static bool is_own(const struct gw_client *client, uint64_t job)
{
    const struct gw_task *task = client->task;
    if (!task || !task->actor)
        return false;
    return task->makes_actor ? task->job == job : task->actor->made && task->actor->job == job;
}

/* Makes a group with room for futures; no future is in use yet. The client's lock is released
 * meanwhile. */
static int open_batch(struct gw_actor_batch *calls, struct gw_error *error)
{
    struct gw_client *client = calls->client;
    if (!calls->capacity)
        calls->capacity = CAPACITY_MIN;
    uint64_t request = ++client->last_request;
    uint32_t capacity = calls->capacity;
    pthread_mutex_unlock(&client->lock);
    struct gw_future_group *group = gw_future_group_new(client, request, NULL, capacity);
    pthread_mutex_lock(&client->lock);
    if (!group)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    group->count = group->pending = 0;
    group->live = 0;
    gw_future_group_expect(group, false);
    group->unsent = true;
    group->own = is_own(client, calls->actor);
    if (calls->group) { /* another thread has made a group meanwhile */
        (void)gw_map_remove(&client->groups, request);
        client->refs--;
        free(group);
        return 0;
    }
    calls->group = group;
    return 0;
}

static int spec_of(struct gw_actor_batch *calls, const struct gw_actor_batch_spec *spec,
                   uint32_t *number)
{
    for (size_t i = calls->specs.count; i-- > 0;)
        if (same_spec(&calls->specs.items[i], spec)) {
            *number = (uint32_t)i;
            return 0;
        }
    *number = (uint32_t)calls->specs.count;
    return gw_array_push(&calls->specs, *spec);
}

static int append(struct gw_actor_batch *calls, const struct gw_actor_batch_row *from,
                  struct gw_future **future)
{
    struct gw_chunk_row row = from->row;
    row.row = calls->rows;
    row.target = future != NULL;
    int rc = spec_of(calls, &from->spec, &row.spec);
    for (uint32_t i = 0; i < from->scattered_count && rc == 0; i++)
        rc = gw_array_push(&calls->scattered, from->scattered[i]);
    if (rc == 0)
        rc = gw_chunk_add(&calls->chunk, &row);
    if (rc < 0)
        return rc;
    struct gw_future_group *group = calls->group;
    struct gw_future *made = &group->futures[calls->rows++];
    group->count++;
    made->released = !future;
    if (future) {
        group->live++;
        group->pending++;
        *future = made;
    }
    return 0;
}

int gw_actor_batch_add(struct gw_actor_batch *calls, const struct gw_actor_batch_row *row,
                       struct gw_future **future, struct gw_error *error)
{
    struct gw_client *client = calls->client;
    int rc = gw_io_room(client->io);
    pthread_mutex_lock(&client->lock);
    if (rc == 0 && (client->closed || client->down.code))
        rc = GW_ECLOSED;
    if (rc == 0 && calls->group &&
        (calls->rows == calls->capacity || calls->specs.count == SPECS_MAX ||
         gw_chunk_bytes(&calls->chunk) + gw_chunk_row_bytes(&row->row) > GW_CHUNK_BYTES))
        flush(calls);
    while (rc == 0 && !calls->group)
        rc = open_batch(calls, error);
    if (rc == 0 && (rc = append(calls, row, future)) < 0)
        gw_error_set(error, rc, "out of memory");
    bool wake = rc == 0 && !calls->is_unsent;
    if (wake) {
        calls->is_unsent = true;
        calls->unsent = client->unsent;
        client->unsent = calls;
    }
    pthread_mutex_unlock(&client->lock);
    if (wake)
        gw_io_wake(client->io);
    return rc == GW_ECLOSED ? gw_client_down_error(client, error) : rc;
}

void gw_actor_batch_deinit(struct gw_actor_batch *calls)
{
    gw_chunk_deinit(&calls->chunk);
    gw_array_deinit(&calls->specs);
    gw_array_deinit(&calls->scattered);
}
