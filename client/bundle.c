/* Bundles: the futures of one submission, and the results that come in for them. What holds: a
 * future's result is written before its state leaves GW_PENDING, and a value that is there (SMALL,
 * HEAP) never changes again while the state is GW_DONE; so done futures are read without the lock.
 */
#include "client/bundle.h"

#include "client/parts.h"
#include "client/record.h"

#include <stdlib.h>
#include <string.h>

struct gw_bundle *gw_bundle_new(struct gw_client *client, uint64_t request, const uint32_t *rows,
                                uint32_t count)
{
    size_t row_bytes = rows ? count * sizeof *rows : 0;
    size_t bytes = sizeof(struct gw_bundle) + count * sizeof(struct gw_future) + row_bytes;
    struct gw_bundle *bundle = calloc(1, bytes);
    if (!bundle)
        return NULL;
    bundle->client = client;
    bundle->request = request;
    bundle->count = bundle->live = bundle->pending = count;
    if (rows) {
        uint32_t *copy = (uint32_t *)(void *)&bundle->futures[count];
        memcpy(copy, rows, row_bytes);
        bundle->rows = copy;
    }
    for (uint32_t i = 0; i < count; i++)
        bundle->futures[i].bundle = bundle;

    pthread_mutex_lock(&client->lock);
    int rc = gw_map_put(&client->bundles, request, (uintptr_t)bundle);
    if (rc == 0)
        client->refs++;
    pthread_mutex_unlock(&client->lock);
    if (rc == 0)
        return bundle;
    free(bundle);
    return NULL;
}

void gw_bundle_set_rows(struct gw_bundle *bundle, const uint32_t *rows)
{
    struct gw_client *client = bundle->client;
    pthread_mutex_lock(&client->lock);
    if (bundle->rows)
        memcpy((uint32_t *)(uintptr_t)bundle->rows, rows, bundle->count * sizeof *rows);
    pthread_mutex_unlock(&client->lock);
}

void gw_bundle_expect(struct gw_bundle *bundle, bool quiet)
{
    bundle->unanswered = true;
    bundle->quiet = quiet;
    bundle->live++;
}

void gw_bundle_drop(struct gw_bundle *bundle)
{
    struct gw_client *client = bundle->client;
    pthread_mutex_lock(&client->lock);
    gw_map_remove(&client->bundles, bundle->request);
    struct gw_parts *parts = bundle->parts;
    if (parts)
        gw_parts_remove(parts, bundle->rows[0]);
    for (uint32_t i = 0; i < bundle->scattered_count; i++)
        gw_record_let_go(client, bundle->scattered[i]);
    if (bundle->record) {
        bundle->record->bundle = NULL;
        gw_record_unref(bundle->record);
    }
    pthread_mutex_unlock(&client->lock);
    for (uint32_t i = 0; i < bundle->count; i++)
        gw_parcel_clear(&bundle->futures[i].result, bundle->futures[i].ranks);
    free(bundle->scattered);
    free(bundle);
    if (parts)
        gw_parts_unref(parts);
    gw_client_unref(client);
}

void gw_bundle_held(struct gw_client *client, const struct gw_msg_held *held)
{
    uint64_t found;
    if (held->code < 0 || !gw_map_get(&client->bundles, held->request, &found))
        return;
    struct gw_bundle *bundle = (struct gw_bundle *)(uintptr_t)found;
    bundle->job = held->job;
    bundle->shared_index = held->index;
    bundle->futures[0].ranks = held->ranks;
    bundle->own = held->own != 0;
}

/* The first future of a row; several futures may stand for one. */
static struct gw_future *find_row(struct gw_bundle *bundle, uint32_t row)
{
    if (!bundle->rows)
        return row < bundle->count ? &bundle->futures[row] : NULL;
    uint32_t low = 0, high = bundle->count;
    if (row < high && bundle->rows[row] == row && (row == 0 || bundle->rows[row - 1] < row))
        return &bundle->futures[row]; /* as where all tasks have one: not looked for */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (bundle->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < bundle->count && bundle->rows[low] == row ? &bundle->futures[low] : NULL;
}

/* The next future of the same row, or NULL. */
static struct gw_future *next_same(struct gw_future *future)
{
    struct gw_bundle *bundle = future->bundle;
    size_t i = (size_t)(future - bundle->futures);
    bool same = bundle->rows && i + 1 < bundle->count && bundle->rows[i] == bundle->rows[i + 1];
    return same ? future + 1 : NULL;
}

/* Ends a future: from here on readers need no lock. */
static void settle(struct gw_future *future, enum gw_future_state state)
{
    if (atomic_load_explicit(&future->state, memory_order_relaxed) == GW_PENDING)
        future->bundle->pending--;
    atomic_store_explicit(&future->state, (uint8_t)state, memory_order_release);
    struct gw_watch *next = future->watches;
    future->watches = NULL;
    while (next) {
        struct gw_watch *watch = next;
        next = watch->next;
        gw_waiter_fire(watch->waiter, watch->item);
    }
}

void gw_bundle_set_failure(struct gw_future *future, struct gw_failure *failure)
{
    gw_parcel_clear(&future->result, future->ranks);
    future->result.kind = failure ? GW_PARCEL_ERROR : GW_PARCEL_CLOSED;
    future->result.failure = failure;
    settle(future, GW_FAILED);
}

void gw_bundle_set_value(struct gw_future *future, uint32_t rank, const struct gw_landing *value)
{
    struct gw_parcel *result = &future->result;
    if (result->kind == GW_PARCEL_ERROR || result->kind == GW_PARCEL_CLOSED)
        gw_parcel_clear(result, future->ranks); /* a retry that another future's retry caused */
    if (future->ranks > 0) {
        if (rank >= future->ranks)
            return;
        if (!result->ranks) {
            result->ranks =
                calloc(1, sizeof *result->ranks + future->ranks * sizeof *result->ranks->items);
            if (!result->ranks)
                goto no_memory;
            result->kind = GW_PARCEL_RANKS;
            result->ranks->missing = future->ranks;
        }
        struct gw_parcel *item = &result->ranks->items[rank];
        if (item->kind != GW_PARCEL_NONE)
            return;
        if (!gw_parcel_set(item, value))
            goto no_memory;
        if (--result->ranks->missing > 0)
            return;
    } else {
        if (result->kind != GW_PARCEL_NONE)
            return;
        if (!gw_parcel_set(result, value))
            goto no_memory;
    }
    settle(future, GW_DONE);
    return;
no_memory:
    gw_bundle_set_failure(future, gw_failure_new(GW_ENOMEM, 0, 0, "out of memory"));
}

/* The bundle that a row of this request belongs to, or NULL. */
static struct gw_bundle *find_bundle(struct gw_client *client, uint64_t request, uint32_t row)
{
    uint64_t found;
    if (gw_map_get(&client->bundles, request, &found))
        return (struct gw_bundle *)(uintptr_t)found;
    return gw_parts_find(client, request, row);
}

void gw_bundle_done(struct gw_client *client, const struct gw_msg_done *done)
{
    const uint8_t *at = done->values.data;
    struct gw_bundle *bundle = NULL;
    for (uint32_t i = 0; i < done->request.count; i++) {
        uint64_t request = gw_col64_at(done->request, i);
        uint32_t size = gw_col32_at(done->value_size, i);
        const struct gw_landing value = {.encoded = size > 0 ? at : NULL, .bytes = size};
        at += size;
        if (!bundle || bundle->request != request)
            bundle = find_bundle(client, request, gw_col32_at(done->index, i));
        struct gw_future *future = bundle ? find_row(bundle, gw_col32_at(done->index, i)) : NULL;
        for (; future; future = next_same(future))
            if (!future->released)
                gw_bundle_set_value(future, gw_col32_at(done->rank, i), &value);
    }
}

void gw_bundle_failed(struct gw_client *client, const struct gw_msg_failed *failed)
{
    struct gw_bundle *bundle = find_bundle(client, failed->request, failed->index);
    if (!bundle)
        return;
    struct gw_future *future = find_row(bundle, failed->index);
    for (; future; future = next_same(future)) {
        if (future->released || atomic_load(&future->state) == GW_DONE)
            continue;
        int code = failed->code < 0 ? failed->code : GW_ETASK;
        gw_bundle_set_failure(
            future, gw_failure_new(code, failed->exit_code, failed->attempt, failed->text));
    }
}

void gw_bundle_fail_pending(struct gw_bundle *bundle, const struct gw_error *error)
{
    for (uint32_t i = 0; i < bundle->count; i++)
        if (!bundle->futures[i].released && atomic_load(&bundle->futures[i].state) == GW_PENDING)
            gw_bundle_set_failure(&bundle->futures[i],
                                  gw_failure_new(error->code, 0, 0, error->text));
}

/* What came of a gang before the connection ended comes again, of all ranks. */
static void begin_again(struct gw_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->count && bundle->pending > 0; i++)
        if (atomic_load(&bundle->futures[i].state) == GW_PENDING &&
            bundle->futures[i].result.kind == GW_PARCEL_RANKS)
            gw_parcel_clear(&bundle->futures[i].result, bundle->futures[i].ranks);
}

void gw_bundle_fail_all(struct gw_client *client, bool all)
{
    size_t at = 0;
    uint64_t request, found;
    while (gw_map_next(&client->bundles, &at, &request, &found)) {
        struct gw_bundle *bundle = (struct gw_bundle *)(uintptr_t)found;
        if (!all && bundle->record && !bundle->record->cut) {
            begin_again(bundle);
            continue;
        }
        for (uint32_t i = 0; i < bundle->count && bundle->pending > 0; i++)
            if (!bundle->futures[i].released &&
                atomic_load(&bundle->futures[i].state) == GW_PENDING)
                gw_bundle_set_failure(&bundle->futures[i], NULL);
    }
}

static bool is_remote(const struct gw_future *future)
{
    if (future->result.kind != GW_PARCEL_RANKS)
        return future->result.kind == GW_PARCEL_REMOTE;
    for (uint32_t rank = 0; rank < future->ranks; rank++)
        if (future->result.ranks->items[rank].kind == GW_PARCEL_REMOTE)
            return true;
    return false;
}

bool gw_bundle_waits(const struct gw_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->count && bundle->pending == 0; i++)
        if (!bundle->futures[i].released && is_remote(&bundle->futures[i]))
            return true;
    return bundle->pending > 0;
}

bool gw_bundle_holds(struct gw_bundle *bundle, uint32_t row)
{
    struct gw_future *future = find_row(bundle, row);
    while (future && future->released)
        future = next_same(future);
    return future != NULL;
}

/* Whether another future of the same row is still held. */
static bool row_held(const struct gw_bundle *bundle, size_t i)
{
    if (!bundle->rows)
        return false;
    size_t first = i, last = i;
    while (first > 0 && bundle->rows[first - 1] == bundle->rows[i])
        first--;
    while (last + 1 < bundle->count && bundle->rows[last + 1] == bundle->rows[i])
        last++;
    for (size_t k = first; k <= last; k++)
        if (!bundle->futures[k].released)
            return true;
    return false;
}

void gw_future_release(struct gw_future *future)
{
    if (!future)
        return;
    struct gw_bundle *bundle = future->bundle;
    struct gw_client *client = bundle->client;
    size_t i = (size_t)(future - bundle->futures);

    pthread_mutex_lock(&client->lock);
    if (atomic_load(&future->state) == GW_PENDING)
        bundle->pending--;
    gw_parcel_clear(&future->result, future->ranks);
    future->released = true;
    bool last = --bundle->live == 0;
    struct gw_io *io = client->closed || client->lost || row_held(bundle, i) ? NULL : client->io;
    if (io && bundle->shared)
        gw_io_drop(io, bundle->request);
    else if (io && !bundle->unanswered) /* else when it is answered */
        gw_io_release(io, bundle->job, bundle->rows ? bundle->rows[i] : (uint32_t)i);
    else if (io && bundle->quiet)
        gw_client_prompt(client);
    pthread_mutex_unlock(&client->lock);
    if (last)
        gw_bundle_drop(bundle);
}
