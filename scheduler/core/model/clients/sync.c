/* State of semaphores, locks, events, variables and queues: contents, waiting requests and leases.
 *
 * Invariant: the values of items and of waiting puts are counted in the bytes of their object and
 * of all objects. Waiters with a deadline are in one heap. */
#include "scheduler/core/model/clients/sync.h"

#include "graph/base/heap.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/scoped_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = GW_SCOPED_NAME_FULL_BYTES + 32 };

static const char *key_of(char key[KEY_BYTES], uint32_t uid, uint32_t kind, const char *name)
{
    (void)snprintf(key, KEY_BYTES, "%u %u %s", uid, kind, name);
    return key;
}

struct gw_sync *gw_sync_find(const struct gw_sched *sched, uint32_t uid, uint32_t kind,
                             const char *name)
{
    char key[KEY_BYTES];
    uint64_t value;
    return gw_strmap_get(&sched->syncs, key_of(key, uid, kind, name), &value)
               ? (struct gw_sync *)(uintptr_t)value
               : NULL;
}

void gw_sched_sync_open(struct gw_sched *sched, uint32_t uid, uint32_t kind, uint32_t count,
                        const char *name)
{
    char key[KEY_BYTES];
    uint64_t names = 0;
    struct gw_sync *sync = calloc(1, sizeof *sync);
    GW_MUST_PTR(sync);
    sync->kind = kind;
    sync->uid = uid;
    sync->count = count;
    sync->name = strdup(name);
    GW_MUST_PTR(sync->name);
    sync->job = gw_scoped_name_job(name);
    if (sync->job)
        gw_sched_job_find(sched, sync->job)->names++;
    sync->prev = sched->last_sync;
    *(sync->prev ? &sync->prev->next : &sched->first_sync) = sync;
    sched->last_sync = sync;
    (void)gw_map_get(&sched->sync_names, uid, &names);
    GW_MUST(gw_map_put(&sched->sync_names, uid, names + 1));
    GW_MUST(gw_strmap_put(&sched->syncs, key_of(key, uid, kind, name), (uintptr_t)sync));
}

static void item_set(struct gw_sched *sched, struct gw_sync *sync, struct gw_sync_item *item,
                     struct gw_bin value)
{
    sync->bytes += (uint64_t)value.size - item->size;
    sched->sync_bytes += (uint64_t)value.size - item->size;
    free(item->data);
    item->data = NULL;
    item->size = value.size;
    if (!value.size)
        return;
    item->data = malloc(value.size);
    GW_MUST_PTR(item->data);
    memcpy(item->data, value.data, value.size);
}

static void sync_free(struct gw_sched *sched, struct gw_sync *sync)
{
    item_set(sched, sync, &sync->value, (struct gw_bin){0});
    for (size_t i = 0; i < sync->items.count; i++)
        item_set(sched, sync, &sync->items.items[i], (struct gw_bin){0});
    gw_array_deinit(&sync->items);
    free(sync->name);
    free(sync);
}

void gw_sched_sync_delete(struct gw_sched *sched, struct gw_sync *sync)
{
    char key[KEY_BYTES];
    uint64_t names = 1;
    struct gw_job *job = sync->job ? gw_sched_job_find(sched, sync->job) : NULL;
    if (job)
        job->names--;
    (void)gw_strmap_remove(&sched->syncs, key_of(key, sync->uid, sync->kind, sync->name));
    (void)gw_map_get(&sched->sync_names, sync->uid, &names);
    if (names > 1)
        GW_MUST(gw_map_put(&sched->sync_names, sync->uid, names - 1));
    else
        (void)gw_map_remove(&sched->sync_names, sync->uid);
    *(sync->prev ? &sync->prev->next : &sched->first_sync) = sync->next;
    *(sync->next ? &sync->next->prev : &sched->last_sync) = sync->prev;
    sync_free(sched, sync);
}

static bool is_sooner(const struct gw_sync_waiter *a, const struct gw_sync_waiter *b)
{
    return a->deadline_ns < b->deadline_ns;
}

static void heap_set(struct gw_sync_waiter **items, size_t at, struct gw_sync_waiter *waiter)
{
    items[at] = waiter;
    waiter->heap_at = (uint32_t)at;
}

GW_HEAP(heap, struct gw_sync_waiter *, is_sooner, heap_set)

void gw_sched_sync_wait(struct gw_sched *sched, const struct gw_sync_waiter *from,
                        struct gw_bin value)
{
    struct gw_sync_waiter *waiter = calloc(1, sizeof *waiter);
    GW_MUST_PTR(waiter);
    struct gw_sync_waiters *line = &from->sync->waiters[from->put];
    *waiter = *from;
    waiter->heap_at = GW_NO_INDEX;
    waiter->prev = line->last;
    waiter->session_next = from->session->sync_waiters;
    if (waiter->put && value.size) {
        waiter->size = value.size;
        waiter->value = malloc(waiter->size);
        GW_MUST_PTR(waiter->value);
        memcpy(waiter->value, value.data, waiter->size);
        waiter->sync->waiting_bytes += waiter->size;
        sched->sync_bytes += waiter->size;
    }
    *(line->last ? &line->last->next : &line->first) = waiter;
    line->last = waiter;
    line->count++;
    if (waiter->session_next)
        waiter->session_next->session_prev = waiter;
    waiter->session->sync_waiters = waiter;
    if (waiter->deadline_ns != UINT64_MAX) {
        GW_MUST(gw_array_push(&sched->sync_deadlines, waiter));
        heap_up(sched->sync_deadlines.items, sched->sync_deadlines.count - 1);
    }
}

void gw_sched_sync_leave(struct gw_sched *sched, struct gw_sync_waiter *waiter)
{
    struct gw_sync_waiters *line = &waiter->sync->waiters[waiter->put];
    *(waiter->prev ? &waiter->prev->next : &line->first) = waiter->next;
    *(waiter->next ? &waiter->next->prev : &line->last) = waiter->prev;
    line->count--;
    *(waiter->session_prev ? &waiter->session_prev->session_next : &waiter->session->sync_waiters) =
        waiter->session_next;
    if (waiter->session_next)
        waiter->session_next->session_prev = waiter->session_prev;
    if (waiter->heap_at != GW_NO_INDEX)
        heap_remove(sched->sync_deadlines.items, &sched->sync_deadlines.count, waiter->heap_at);
    waiter->sync->waiting_bytes -= waiter->size;
    sched->sync_bytes -= waiter->size;
    free(waiter->value);
    free(waiter);
}

void gw_sync_deinit(struct gw_sched *sched)
{
    for (struct gw_sync *sync = sched->first_sync, *next; sync; sync = next) {
        next = sync->next;
        for (int put = 0; put < 2; put++)
            for (struct gw_sync_waiter *at = sync->waiters[put].first, *after; at; at = after) {
                after = at->next;
                free(at->value);
                free(at);
            }
        for (struct gw_sync_lease *at = sync->leases, *after; at; at = after) {
            after = at->next;
            free(at);
        }
        sync_free(sched, sync);
    }
    gw_array_deinit(&sched->sync_deadlines);
    gw_map_deinit(&sched->sync_names);
    gw_strmap_deinit(&sched->syncs);
}

void gw_sched_sync_flag(struct gw_sync *sync, bool set)
{
    sync->set = set;
}

void gw_sched_sync_put(struct gw_sched *sched, struct gw_sync *sync, struct gw_bin value)
{
    /* Grow the ring and move its first item to the front. */
    if (sync->filled == sync->items.count) {
        size_t before = sync->items.count, grown = before ? before * 2 : 16;
        struct gw_sync_item *items = calloc(grown, sizeof *items);
        GW_MUST_PTR(items);
        for (uint32_t i = 0; i < sync->filled; i++)
            items[i] = sync->items.items[(sync->first + i) % before];
        gw_array_deinit(&sync->items);
        sync->items.items = items;
        sync->items.count = sync->items.capacity = grown;
        sync->first = 0;
    }
    size_t at = (sync->first + sync->filled++) % sync->items.count;
    item_set(sched, sync, &sync->items.items[at], value);
}

void gw_sched_sync_take(struct gw_sched *sched, struct gw_sync *sync, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        item_set(sched, sync, &sync->items.items[sync->first], (struct gw_bin){0});
        sync->first = (uint32_t)((sync->first + 1) % sync->items.count);
        sync->filled--;
    }
}

void gw_sched_sync_close(struct gw_sync *sync)
{
    sync->closed = true;
}

void gw_sched_sync_assign(struct gw_sched *sched, struct gw_sync *sync, struct gw_bin value)
{
    item_set(sched, sync, &sync->value, value);
    sync->version++;
}

struct gw_sync_lease *gw_sync_lease_of(const struct gw_sync *sync, const struct gw_session *session)
{
    for (struct gw_sync_lease *lease = session->sync_leases; lease; lease = lease->session_next)
        if (lease->sync == sync)
            return lease;
    return NULL;
}

void gw_sched_sync_lease(struct gw_sched *sched, struct gw_sync *sync, struct gw_session *session,
                         uint64_t fence)
{
    struct gw_sync_lease *lease = gw_sync_lease_of(sync, session);
    sched->fence = sync->fence = fence;
    sync->held++;
    if (lease) {
        lease->count++;
        lease->fence = fence;
        return;
    }
    lease = calloc(1, sizeof *lease);
    GW_MUST_PTR(lease);
    *lease = (struct gw_sync_lease){.sync = sync,
                                    .session = session,
                                    .count = 1,
                                    .fence = fence,
                                    .next = sync->leases,
                                    .session_next = session->sync_leases};
    if (lease->next)
        lease->next->prev = lease;
    if (lease->session_next)
        lease->session_next->session_prev = lease;
    sync->leases = session->sync_leases = lease;
}

void gw_sched_sync_return(struct gw_sync *sync, struct gw_session *session, uint32_t count)
{
    struct gw_sync_lease *lease = gw_sync_lease_of(sync, session);
    sync->held -= count;
    lease->count -= count;
    if (lease->count)
        return;
    *(lease->prev ? &lease->prev->next : &sync->leases) = lease->next;
    if (lease->next)
        lease->next->prev = lease->prev;
    *(lease->session_prev ? &lease->session_prev->session_next : &session->sync_leases) =
        lease->session_next;
    if (lease->session_next)
        lease->session_next->session_prev = lease->session_prev;
    free(lease);
}
