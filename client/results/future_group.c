/* Future groups: the futures of one submission, and the results that arrive for them.
 *
 * Invariants: a future's result is written before its state leaves GW_PENDING. A value that was
 * received (SMALL, HEAP) does not change while the state is GW_DONE. Therefore readers need no lock
 * for a future in state GW_DONE. */
#include "client/results/future_group.h"

#include "client/link/descriptor.h"
#include "client/results/parts.h"
#include "client/results/resubmit_log.h"

#include <stdlib.h>
#include <string.h>

struct gw_future_group *gw_future_group_new(struct gw_client *client, uint64_t request,
                                            const uint32_t *rows, uint32_t count)
{
    size_t row_bytes = rows ? count * sizeof *rows : 0;
    size_t bytes = sizeof(struct gw_future_group) + count * sizeof(struct gw_future) + row_bytes;
    struct gw_future_group *group = calloc(1, bytes);
    if (!group)
        return NULL;
    group->client = client;
    group->request = request;
    group->count = group->live = group->pending = count;
    if (rows) {
        uint32_t *copy = (uint32_t *)(void *)&group->futures[count];
        memcpy(copy, rows, row_bytes);
        group->rows = copy;
    }
    for (uint32_t i = 0; i < count; i++)
        group->futures[i].group = group;

    pthread_mutex_lock(&client->lock);
    int rc = gw_map_put(&client->groups, request, (uintptr_t)group);
    if (rc == 0)
        client->refs++;
    pthread_mutex_unlock(&client->lock);
    if (rc == 0)
        return group;
    free(group);
    return NULL;
}

void gw_future_group_set_rows(struct gw_future_group *group, const uint32_t *rows)
{
    struct gw_client *client = group->client;
    pthread_mutex_lock(&client->lock);
    if (group->rows)
        memcpy((uint32_t *)(uintptr_t)group->rows, rows, group->count * sizeof *rows);
    pthread_mutex_unlock(&client->lock);
}

void gw_future_group_expect(struct gw_future_group *group, bool quiet)
{
    group->unanswered = true;
    group->quiet = quiet;
    group->live++;
}

void gw_future_group_drop(struct gw_future_group *group)
{
    struct gw_client *client = group->client;
    pthread_mutex_lock(&client->lock);
    gw_map_remove(&client->groups, group->request);
    struct gw_parts *parts = group->parts;
    if (parts)
        gw_parts_remove(parts, group->rows[0]);
    for (uint32_t i = 0; i < group->scattered_count; i++)
        gw_resubmit_log_let_go(client, group->scattered[i]);
    if (group->record) {
        group->record->group = NULL;
        gw_resubmit_log_unref(group->record);
    }
    pthread_mutex_unlock(&client->lock);
    for (uint32_t i = 0; i < group->count; i++)
        gw_value_slot_clear(&group->futures[i].result, group->futures[i].ranks);
    free(group->scattered);
    free(group);
    if (parts)
        gw_parts_unref(parts);
    gw_client_unref(client);
}

void gw_future_group_held(struct gw_client *client, const struct gw_msg_held *held)
{
    uint64_t found;
    if (held->code < 0 || !gw_map_get(&client->groups, held->request, &found))
        return;
    struct gw_future_group *group = (struct gw_future_group *)(uintptr_t)found;
    group->job = held->job;
    group->shared_index = held->index;
    group->futures[0].ranks = held->ranks;
    group->own = held->own != 0;
}

/* Finds the first future of a task. Several futures may belong to one task. */
static struct gw_future *find_row(struct gw_future_group *group, uint32_t row)
{
    if (!group->rows)
        return row < group->count ? &group->futures[row] : NULL;
    uint32_t low = 0, high = group->count;
    if (row < high && group->rows[row] == row && (row == 0 || group->rows[row - 1] < row))
        return &group->futures[row]; /* fast path for a submission in which every task has one
                                        future */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (group->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < group->count && group->rows[low] == row ? &group->futures[low] : NULL;
}

/* Returns the next future of the same row, or NULL. */
static struct gw_future *next_same(struct gw_future *future)
{
    struct gw_future_group *group = future->group;
    size_t i = (size_t)(future - group->futures);
    bool same = group->rows && i + 1 < group->count && group->rows[i] == group->rows[i + 1];
    return same ? future + 1 : NULL;
}

/* Ends a future and wakes its waiters. From now on readers need no lock. */
static void settle(struct gw_future *future, enum gw_future_state state)
{
    if (atomic_load_explicit(&future->state, memory_order_relaxed) == GW_PENDING)
        future->group->pending--;
    atomic_store_explicit(&future->state, (uint8_t)state, memory_order_release);
    gw_descriptor_signal(future->group->client);
    struct gw_watch *next = future->watches;
    future->watches = NULL;
    while (next) {
        struct gw_watch *watch = next;
        next = watch->next;
        gw_waiter_fire(watch->waiter, watch->item);
    }
}

void gw_future_group_set_failure(struct gw_future *future, struct gw_failure *failure)
{
    gw_value_slot_clear(&future->result, future->ranks);
    future->result.kind = failure ? GW_VALUE_SLOT_ERROR : GW_VALUE_SLOT_CLOSED;
    future->result.failure = failure;
    settle(future, GW_FAILED);
}

void gw_future_group_set_value(struct gw_future *future, uint32_t rank,
                               const struct gw_landing *value)
{
    struct gw_value_slot *result = &future->result;
    if (result->kind == GW_VALUE_SLOT_ERROR || result->kind == GW_VALUE_SLOT_CLOSED)
        gw_value_slot_clear(
            result,
            future->ranks); /* the task was retried because of the retry of another future */
    if (future->ranks > 0) {
        if (rank >= future->ranks)
            return;
        if (!result->ranks) {
            result->ranks =
                calloc(1, sizeof *result->ranks + future->ranks * sizeof *result->ranks->items);
            if (!result->ranks)
                goto no_memory;
            result->kind = GW_VALUE_SLOT_RANKS;
            result->ranks->missing = future->ranks;
        }
        struct gw_value_slot *item = &result->ranks->items[rank];
        if (item->kind != GW_VALUE_SLOT_NONE)
            return;
        if (!gw_value_slot_set(item, value))
            goto no_memory;
        if (--result->ranks->missing > 0)
            return;
    } else {
        if (result->kind != GW_VALUE_SLOT_NONE)
            return;
        if (!gw_value_slot_set(result, value))
            goto no_memory;
    }
    settle(future, GW_DONE);
    return;
no_memory:
    gw_future_group_set_failure(future,
                                gw_value_slot_failure_new(GW_ENOMEM, 0, 0, "out of memory"));
}

/* Returns the group to which this task of the request belongs, or NULL. */
static struct gw_future_group *find_group(struct gw_client *client, uint64_t request, uint32_t row)
{
    uint64_t found;
    if (gw_map_get(&client->groups, request, &found))
        return (struct gw_future_group *)(uintptr_t)found;
    return gw_parts_find(client, request, row);
}

void gw_future_group_done(struct gw_client *client, const struct gw_msg_done *done)
{
    const uint8_t *at = done->values.data;
    struct gw_future_group *group = NULL;
    for (uint32_t i = 0; i < done->request.count; i++) {
        uint64_t request = gw_col64_at(done->request, i);
        uint32_t size = gw_col32_at(done->value_size, i);
        const struct gw_landing value = {.encoded = size > 0 ? at : NULL, .bytes = size};
        at += size;
        if (!group || group->request != request)
            group = find_group(client, request, gw_col32_at(done->index, i));
        struct gw_future *future = group ? find_row(group, gw_col32_at(done->index, i)) : NULL;
        for (; future; future = next_same(future))
            if (!future->released)
                gw_future_group_set_value(future, gw_col32_at(done->rank, i), &value);
    }
}

void gw_future_group_failed(struct gw_client *client, const struct gw_msg_failed *failed)
{
    struct gw_future_group *group = find_group(client, failed->request, failed->index);
    if (!group)
        return;
    struct gw_future *future = find_row(group, failed->index);
    for (; future; future = next_same(future)) {
        if (future->released || atomic_load(&future->state) == GW_DONE)
            continue;
        int code = failed->code < 0 ? failed->code : GW_ETASK;
        gw_future_group_set_failure(
            future,
            gw_value_slot_failure_new(code, failed->exit_code, failed->attempt, failed->text));
    }
}

void gw_future_group_fail_pending(struct gw_future_group *group, const struct gw_error *error)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (!group->futures[i].released && atomic_load(&group->futures[i].state) == GW_PENDING)
            gw_future_group_set_failure(&group->futures[i],
                                        gw_value_slot_failure_new(error->code, 0, 0, error->text));
}

/* Drops the results of gangs that have not ended: after a reconnect the results of all ranks arrive
 * again. */
static void begin_again(struct gw_future_group *group)
{
    for (uint32_t i = 0; i < group->count && group->pending > 0; i++)
        if (atomic_load(&group->futures[i].state) == GW_PENDING &&
            group->futures[i].result.kind == GW_VALUE_SLOT_RANKS)
            gw_value_slot_clear(&group->futures[i].result, group->futures[i].ranks);
}

void gw_future_group_fail_all(struct gw_client *client, bool all)
{
    size_t at = 0;
    uint64_t request, found;
    while (gw_map_next(&client->groups, &at, &request, &found)) {
        struct gw_future_group *group = (struct gw_future_group *)(uintptr_t)found;
        if (!all && group->record && !group->record->cut) {
            begin_again(group);
            continue;
        }
        for (uint32_t i = 0; i < group->count && group->pending > 0; i++)
            if (!group->futures[i].released && atomic_load(&group->futures[i].state) == GW_PENDING)
                gw_future_group_set_failure(&group->futures[i], NULL);
    }
}

static bool is_remote(const struct gw_future *future)
{
    if (future->result.kind != GW_VALUE_SLOT_RANKS)
        return future->result.kind == GW_VALUE_SLOT_REMOTE;
    for (uint32_t rank = 0; rank < future->ranks; rank++)
        if (future->result.ranks->items[rank].kind == GW_VALUE_SLOT_REMOTE)
            return true;
    return false;
}

bool gw_future_group_waits(const struct gw_future_group *group)
{
    for (uint32_t i = 0; i < group->count && group->pending == 0; i++)
        if (!group->futures[i].released && is_remote(&group->futures[i]))
            return true;
    return group->pending > 0;
}

bool gw_future_group_holds(struct gw_future_group *group, uint32_t row)
{
    struct gw_future *future = find_row(group, row);
    while (future && future->released)
        future = next_same(future);
    return future != NULL;
}

/* Whether another future of the same row is still held. */
static bool row_held(const struct gw_future_group *group, size_t i)
{
    if (!group->rows)
        return false;
    size_t first = i, last = i;
    while (first > 0 && group->rows[first - 1] == group->rows[i])
        first--;
    while (last + 1 < group->count && group->rows[last + 1] == group->rows[i])
        last++;
    for (size_t k = first; k <= last; k++)
        if (!group->futures[k].released)
            return true;
    return false;
}

void gw_future_release(struct gw_future *future)
{
    if (!future)
        return;
    struct gw_future_group *group = future->group;
    struct gw_client *client = group->client;
    size_t i = (size_t)(future - group->futures);

    pthread_mutex_lock(&client->lock);
    if (atomic_load(&future->state) == GW_PENDING)
        group->pending--;
    gw_value_slot_clear(&future->result, future->ranks);
    future->released = true;
    bool last = --group->live == 0;
    struct gw_io *io = client->closed || client->lost || row_held(group, i) ? NULL : client->io;
    if (io && group->shared)
        gw_io_drop(io, group->request);
    else if (io &&
             !group->unanswered) /* otherwise the result is released when the answer arrives */
        gw_io_release(io, group->job, group->rows ? group->rows[i] : (uint32_t)i);
    else if (io && group->quiet)
        gw_client_prompt(client);
    pthread_mutex_unlock(&client->lock);
    if (last)
        gw_future_group_drop(group);
}
