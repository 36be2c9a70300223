/* Futures: reading, waiting, cancelling and retrying. A future in state GW_DONE is read without the
 * client's lock (future_group.c explains why). A future in state GW_FAILED is read under the lock,
 * because a retry may make it pending again. */
#include "client/results/future.h"

#include "client/link/descriptor.h"
#include "client/link/rpc.h"
#include "client/results/deferred_accept.h"
#include "graph/base/clock.h"
#include "graph/base/text.h"
#include "graph/wire/codec.h"
#include "graph/wire/value_file.h"

#include <stdlib.h>
#include <string.h>

enum { GATHER_BATCH = 128 };

static enum gw_future_state state_of(const struct gw_future *future)
{
    return (enum gw_future_state)atomic_load_explicit(&future->state, memory_order_acquire);
}

enum gw_future_state gw_future_state(const struct gw_future *future)
{
    enum gw_future_state state = state_of(future);
    if (state ==
        GW_PENDING) /* a caller that polls is waiting too: let the loop thread read messages */
        gw_reader_handoff_recall(&future->group->client->turn);
    return state;
}

uint64_t gw_future_job(const struct gw_future *future)
{
    if (future->group->unanswered)
        (void)gw_deferred_accept_wait(
            future, NULL); /* the scheduler's answer with the job number is on its way */
    return future->group->job;
}

uint32_t gw_future_index(const struct gw_future *future)
{
    const struct gw_future_group *group = future->group;
    size_t i = (size_t)(future - group->futures);
    if (group->shared)
        return group->shared_index;
    return group->rows ? group->rows[i] : (uint32_t)i;
}

int gw_future_exit_code(const struct gw_future *future)
{
    struct gw_client *client = future->group->client;
    pthread_mutex_lock(&client->lock);
    int exit_code =
        future->result.kind == GW_VALUE_SLOT_ERROR ? future->result.failure->exit_code : 0;
    pthread_mutex_unlock(&client->lock);
    return exit_code;
}

uint64_t gw_future_attempt(const struct gw_future *future)
{
    struct gw_client *client = future->group->client;
    pthread_mutex_lock(&client->lock);
    uint64_t attempt =
        future->result.kind == GW_VALUE_SLOT_ERROR ? future->result.failure->attempt : 0;
    pthread_mutex_unlock(&client->lock);
    return attempt;
}

/* -- Waiting -------------------------------------------------------------------------------------
 */

/* Registers a watch, which fires exactly once. If the future has already ended, the watch fires at
 * once. */
static void watch_init(struct gw_future *future, struct gw_watch *watch)
{
    struct gw_client *client = future->group->client;
    pthread_mutex_lock(&client->lock);
    if (state_of(future) == GW_PENDING) {
        watch->next = future->watches;
        future->watches = watch;
    } else {
        gw_waiter_fire(watch->waiter, watch->item);
        gw_descriptor_signal(client); /* an event loop that adds an ended future gets its index */
    }
    pthread_mutex_unlock(&client->lock);
}

/* Removes a watch. Afterwards it cannot fire. */
static void watch_deinit(struct gw_future *future, struct gw_watch *watch)
{
    struct gw_client *client = future->group->client;
    pthread_mutex_lock(&client->lock);
    struct gw_watch **at = &future->watches;
    while (*at && *at != watch)
        at = &(*at)->next;
    if (*at)
        *at = watch->next;
    pthread_mutex_unlock(&client->lock);
}

int gw_future_wait(struct gw_future *future, uint64_t timeout_ns)
{
    if (state_of(future) != GW_PENDING)
        return 0;
    if (future->group->own && timeout_ns == UINT64_MAX)
        return GW_ECYCLE;
    size_t item;
    struct gw_waiter waiter;
    struct gw_watch own = {.waiter = &waiter};
    gw_waiter_init(&waiter, NULL);
    watch_init(future, &own);
    int rc = gw_client_sleep(future->group->client, &waiter, timeout_ns, &item);
    watch_deinit(future, &own);
    return rc;
}

struct gw_completions {
    struct gw_waiter waiter;
    struct gw_client *client;   /* NULL: no future was added yet */
    struct gw_future **futures; /* a copy of the caller's array; an entry is NULL once its index was
                                   returned, because the caller may then release the future */
    struct gw_watch **watches;  /* an entry is NULL once its index was returned; each watch is
                                   allocated separately because its future points to it */
    size_t *fired;
    size_t count, given, room;
};

/* Enlarges the arrays. The loop thread writes to `fired` under the client's lock, so this array is
 * moved under the lock. */
static int grow(struct gw_completions *completions, size_t room)
{
    struct gw_client *client = completions->client;
    if (room <= completions->room)
        return 0;
    struct gw_future **futures = realloc(completions->futures, room * sizeof *futures);
    if (futures)
        completions->futures = futures;
    struct gw_watch **watches = realloc(completions->watches, room * sizeof *watches);
    if (watches)
        completions->watches = watches;
    pthread_mutex_lock(&client->lock);
    size_t *fired = realloc(completions->fired, room * sizeof *fired);
    if (fired)
        completions->fired = completions->waiter.fired = fired;
    pthread_mutex_unlock(&client->lock);
    if (!futures || !watches || !fired)
        return GW_ENOMEM;
    completions->room = room;
    return 0;
}

int gw_completions_add(struct gw_completions *completions, struct gw_future *future, size_t *index)
{
    struct gw_client *client = future->group->client;
    if (completions->client && completions->client != client)
        return GW_EINVAL;
    completions->client = client;
    size_t count = completions->count, room = completions->room ? 2 * completions->room : 16;
    int rc = count < completions->room ? 0 : grow(completions, room);
    struct gw_watch *watch = rc == 0 ? malloc(sizeof *watch) : NULL;
    if (!watch)
        return GW_ENOMEM;
    *watch = (struct gw_watch){.waiter = &completions->waiter, .item = count};
    completions->futures[count] = future;
    completions->watches[count] = watch;
    completions->count++;
    *index = count;
    watch_init(future, watch);
    return 0;
}

int gw_completions_new(struct gw_future *const *futures, size_t count, struct gw_completions **out)
{
    struct gw_completions *completions = calloc(1, sizeof *completions);
    size_t index;
    if (!completions)
        return GW_ENOMEM;
    gw_waiter_init(&completions->waiter, NULL);
    completions->client = count ? futures[0]->group->client : NULL;
    int rc = count ? grow(completions, count) : 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = gw_completions_add(completions, futures[i], &index);
    if (rc < 0)
        gw_completions_free(completions);
    else
        *out = completions;
    return rc;
}

int gw_completions_next(struct gw_completions *completions, uint64_t timeout_ns, size_t *index)
{
    if (completions->given == completions->count)
        return GW_ENOENT;
    int rc = gw_client_sleep(completions->client, &completions->waiter, timeout_ns, index);
    if (rc < 0)
        return rc;
    watch_deinit(completions->futures[*index], completions->watches[*index]);
    free(completions->watches[*index]);
    completions->futures[*index] = NULL;
    completions->watches[*index] = NULL;
    completions->given++;
    return 0;
}

void gw_completions_free(struct gw_completions *completions)
{
    if (!completions)
        return;
    for (size_t i = 0; i < completions->count; i++)
        if (completions->futures[i]) {
            watch_deinit(completions->futures[i], completions->watches[i]);
            free(completions->watches[i]);
        }
    free(completions->futures);
    free(completions->watches);
    free(completions->fired);
    free(completions);
}

int gw_future_wait_any(struct gw_future *const *futures, size_t count, uint64_t timeout_ns,
                       size_t *index)
{
    struct gw_completions *completions;
    for (size_t i = 0; i < count; i++) {
        if (state_of(futures[i]) != GW_PENDING) {
            *index = i;
            return 0;
        }
    }
    int rc = gw_completions_new(futures, count, &completions);
    if (rc < 0)
        return rc;
    rc = gw_completions_next(completions, timeout_ns, index);
    gw_completions_free(completions);
    return rc;
}

/* -- Values --------------------------------------------------------------------------------------
 */

/* Makes a value from the answer to a fetch. The encoded value is in the message, or in a file that
 * came as a descriptor. */
static int decode_object(const struct gw_rpc *call, struct gw_value **value, struct gw_error *error)
{
    if (call->fd < 0)
        return gw_codec_decode(call->body, call->body_bytes, NULL, value, error);
    if (call->number == 0)
        return gw_error_set(error, GW_EPROTO,
                            "the scheduler sent a result without its size: install one version of "
                            "Gangway on both sides");
    return gw_value_file_decode(call->fd, (size_t)call->number, value, error);
}

int gw_future_fetch(struct gw_client *client, const struct gw_future_place *place,
                    uint64_t timeout_ns, struct gw_value **value, struct gw_error *error)
{
    struct gw_rpc call;
    gw_rpc_open(&call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_fetch,
        .fetch = {.request = call.request,
                  .job = place->job,
                  .index = place->index,
                  .rank = place->rank},
    };
    int rc = gw_rpc_exchange(&call, client, &message, timeout_ns, error);
    if (rc == 0)
        rc = decode_object(&call, value, error);
    gw_rpc_close(&call, client);
    return rc;
}

static int failure_of(struct gw_future *future, struct gw_error *error)
{
    struct gw_client *client = future->group->client;
    int rc = 0; /* no failure of its own: the future failed because the connection ended */
    pthread_mutex_lock(&client->lock);
    if (future->result.kind == GW_VALUE_SLOT_ERROR)
        rc = gw_error_set(error, future->result.failure->code, "%s", future->result.failure->text);
    pthread_mutex_unlock(&client->lock);
    return rc == 0 ? gw_client_down_error(client, error) : rc;
}

/* Stores a fetched value in the future, so that later calls of gw_future_get return the same
 * mapping. */
static struct gw_value *store(struct gw_future *future, struct gw_value_slot *result,
                              struct gw_value *value)
{
    struct gw_client *client = future->group->client;
    pthread_mutex_lock(&client->lock);
    if (result->kind == GW_VALUE_SLOT_REMOTE) {
        result->value = gw_value_ref(value);
        result->kind = GW_VALUE_SLOT_VALUE;
    }
    pthread_mutex_unlock(&client->lock);
    return value;
}

static struct gw_value_slot *value_slot_of(struct gw_future *future, uint32_t rank)
{
    struct gw_value_slot *result = &future->result;
    return result->kind == GW_VALUE_SLOT_RANKS ? &result->ranks->items[rank] : result;
}

/* Fetches a value. If the connection is lost, the job is submitted again under another number, so
 * the fetch waits for the reconnect and starts again with the new number. */
static int fetch(const struct gw_future *future, uint32_t rank, uint64_t deadline_ns,
                 struct gw_value **value, struct gw_error *error)
{
    struct gw_client *client = future->group->client;
    uint32_t life;
    int rc, again;
    do {
        again = GW_ENOENT;
        life = client->life;
        rc = client->lost ? gw_client_await_until(client, deadline_ns, &life, error) : 0;
        const uint64_t left_ns = gw_clock_left_ns(deadline_ns);
        if (rc == 0 && left_ns == 0)
            rc = GW_ETIMEDOUT;
        if (rc == 0) {
            const struct gw_future_place place = {future->group->job, gw_future_index(future),
                                                  rank};
            rc = gw_future_fetch(client, &place, left_ns, value, error);
        }
        if (rc < 0 && client->home && (rc == GW_ECLOSED || client->life != life))
            again = gw_client_await_until(client, deadline_ns, NULL, NULL);
    } while (again == 0);
    return again == GW_ETIMEDOUT ? again : rc;
}

/* How long a call may wait: for its errors, and as a time of the clock. */
struct patience {
    uint64_t timeout_ns, deadline_ns;
};

static int late(const struct gw_future *future, const struct patience *patience,
                struct gw_error *error)
{
    char time[GW_TEXT_DURATION_ROOM];
    return gw_error_set(error, GW_ETIMEDOUT,
                        "the result of task %u of job %llu did not arrive within %s",
                        gw_future_index(future), (unsigned long long)future->group->job,
                        gw_text_duration(patience->timeout_ns, time));
}

static int get_patiently(struct gw_future *future, uint32_t rank, const struct patience *patience,
                         struct gw_value **value, struct gw_error *error)
{
    if (rank >= (future->ranks ? future->ranks : 1))
        return gw_error_set(error, GW_EINVAL,
                            "there is no rank %u: the task has %u ranks, numbered from 0", rank,
                            future->ranks ? future->ranks : 1);
    int rc = gw_future_wait(future, gw_clock_left_ns(patience->deadline_ns));
    if (rc == GW_ETIMEDOUT)
        return late(future, patience, error);
    if (rc == GW_ECYCLE)
        return gw_error_set(error, GW_ECYCLE,
                            "task %u of job %llu cannot end before the task that waits for it, so "
                            "this wait would never end",
                            gw_future_index(future), (unsigned long long)gw_future_job(future));
    if (future->group->client->closed)
        return gw_client_down_error(future->group->client, error);
    if (state_of(future) == GW_FAILED)
        return failure_of(future, error);

    struct gw_value_slot *result = value_slot_of(future, rank);
    struct gw_value *got;
    switch (result->kind) {
    case GW_VALUE_SLOT_SMALL:
        return gw_codec_decode(result->small, result->size, NULL, value, error);
    case GW_VALUE_SLOT_HEAP:
        return gw_codec_decode(result->heap, result->size, NULL, value, error);
    case GW_VALUE_SLOT_VALUE:
        *value = gw_value_ref(result->value);
        return 0;
    default:
        rc = fetch(future, rank, patience->deadline_ns, &got, error);
        if (rc == 0)
            *value = store(future, result, got);
        return rc == GW_ETIMEDOUT ? late(future, patience, error) : rc;
    }
}

int gw_future_get_within(struct gw_future *future, uint32_t rank, uint64_t timeout_ns,
                         struct gw_value **value, struct gw_error *error)
{
    const struct patience patience = {timeout_ns, gw_clock_deadline_ns(timeout_ns)};
    return get_patiently(future, rank, &patience, value, error);
}

int gw_future_get(struct gw_future *future, uint32_t rank, struct gw_value **value,
                  struct gw_error *error)
{
    return get_patiently(future, rank, &(struct patience){GW_FOREVER, GW_FOREVER}, value, error);
}

/* Asks the cluster for a value. Returns false if the value need not or cannot be fetched. */
static bool fetch_begin(struct gw_future *future, struct gw_rpc *call)
{
    struct gw_client *client = future->group->client;
    struct gw_value_slot *result = value_slot_of(future, 0);
    if (state_of(future) != GW_DONE || client->closed || result->kind != GW_VALUE_SLOT_REMOTE)
        return false;
    gw_rpc_open(call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_fetch,
        .fetch = {.request = call->request,
                  .job = gw_future_job(future),
                  .index = gw_future_index(future)},
    };
    if (gw_rpc_send(call, client, &message, -1) == 0)
        return true;
    gw_rpc_close(call, client);
    return false;
}

/* Receives the answer to fetch_begin. Errors are ignored here: gw_gather then calls gw_future_get,
 * which fetches the value again and reports the error. */
static void fetch_end(struct gw_future *future, struct gw_rpc *call, uint64_t deadline_ns)
{
    struct gw_client *client = future->group->client;
    struct gw_value *value;
    if (gw_rpc_wait(call, client, gw_clock_left_ns(deadline_ns), NULL) == 0 &&
        decode_object(call, &value, NULL) == 0)
        gw_value_unref(store(future, value_slot_of(future, 0), value));
    gw_rpc_close(call, client);
}

/* Fetches all values that are still in the cluster. The requests of a batch are sent together, so
 * that a batch takes one round trip. The batch size limits the number of open file descriptors. */
static void fetch_all(struct gw_future *const *futures, size_t count, uint64_t deadline_ns)
{
    struct gw_future *asked[GATHER_BATCH];
    struct gw_rpc *calls = malloc(GATHER_BATCH * sizeof *calls);
    for (size_t at = 0; calls && at < count;) {
        size_t batch = 0;
        for (; at < count && batch < GATHER_BATCH; at++) {
            (void)gw_future_wait(futures[at], gw_clock_left_ns(deadline_ns));
            if (gw_future_state(futures[at]) != GW_DONE) /* gw_gather stops at this future */
                count = at;
            else if (fetch_begin(futures[at], &calls[batch]))
                asked[batch++] = futures[at];
        }
        for (size_t i = 0; i < batch; i++)
            fetch_end(asked[i], &calls[i], deadline_ns);
    }
    free(calls);
}

static int gather(struct gw_future *const *futures, size_t count, const struct patience *patience,
                  struct gw_value **values, struct gw_error *error)
{
    if (patience->timeout_ns > 0)
        fetch_all(futures, count, patience->deadline_ns);
    for (size_t i = 0; i < count; i++) {
        int rc = get_patiently(futures[i], 0, patience, &values[i], error);
        if (rc == 0)
            continue;
        while (i > 0)
            gw_value_unref(values[--i]);
        return rc;
    }
    return 0;
}

int gw_gather_within(struct gw_client *client, struct gw_future *const *futures, size_t count,
                     uint64_t timeout_ns, struct gw_value **values, struct gw_error *error)
{
    const struct patience patience = {timeout_ns, gw_clock_deadline_ns(timeout_ns)};
    (void)client;
    return gather(futures, count, &patience, values, error);
}

int gw_gather(struct gw_client *client, struct gw_future *const *futures, size_t count,
              struct gw_value **values, struct gw_error *error)
{
    (void)client;
    return gather(futures, count, &(struct patience){GW_FOREVER, GW_FOREVER}, values, error);
}

/* -- Cancelling and retrying ---------------------------------------------------------------------
 */

int gw_future_cancel(struct gw_future *future, bool hard, struct gw_error *error)
{
    struct gw_client *client = future->group->client;
    struct gw_message message = {
        .type = GW_MESSAGE_cancel,
        .cancel = {.job = gw_future_job(future), .index = gw_future_index(future), .hard = hard},
    };
    if (state_of(future) != GW_PENDING)
        return 0;
    pthread_mutex_lock(&client->lock);
    future->group->own =
        false; /* the cancelled task ends at once, so waiting for it cannot deadlock */
    message.cancel.request =
        ++client->last_request; /* a new number, so that the answer is ignored */
    int rc = client->closed || !client->io ? GW_ECLOSED : gw_io_put(client->io, &message, -1);
    pthread_mutex_unlock(&client->lock);
    return rc == GW_ECLOSED ? gw_client_down_error(client, error)
           : rc < 0         ? gw_error_set(error, rc, "%s", gw_error_text(rc))
                            : 0;
}

/* Makes a failed future pending. *before is set to its failure, which is restored if the scheduler
 * refuses the retry. */
static int set_pending(struct gw_future *future, struct gw_value_slot *before)
{
    struct gw_client *client = future->group->client;
    int rc = GW_EINVAL;
    pthread_mutex_lock(&client->lock);
    if (client->down.code || client->closed) {
        rc = GW_ECLOSED;
    } else if (state_of(future) == GW_FAILED) {
        *before = future->result;
        memset(&future->result, 0, sizeof future->result);
        future->group->pending++;
        atomic_store_explicit(&future->state, GW_PENDING, memory_order_release);
        rc = 0;
    }
    pthread_mutex_unlock(&client->lock);
    return rc;
}

int gw_future_retry(struct gw_future *future, struct gw_error *error)
{
    struct gw_client *client = future->group->client;
    struct gw_value_slot before;
    struct gw_rpc call;
    int rc = set_pending(future, &before);
    if (rc == GW_ECLOSED)
        return gw_client_down_error(client, error);
    if (rc < 0)
        return gw_error_set(error, rc,
                            "the task has not failed: only a failed task can be run again");

    gw_rpc_open(&call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_retry,
        .retry = {.request = call.request,
                  .job = gw_future_job(future),
                  .index = gw_future_index(future)},
    };
    rc = gw_rpc_exchange(&call, client, &message, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    pthread_mutex_lock(&client->lock);
    if (rc < 0 && state_of(future) == GW_PENDING)
        gw_future_group_set_failure(future, before.failure);
    else
        gw_value_slot_clear(&before, 0);
    pthread_mutex_unlock(&client->lock);
    return rc;
}
