/* Queues. Clients take values in the order in which they were put. The client that waited longest
 * is served first.
 *
 * Invariant after serving: no client waits for a value while the queue has one, and no client waits
 * to put a value while the queue has room. */
#include "scheduler/core/requests/coordination/sync.h"
#include "scheduler/core/send/send.h"

#include <string.h>

/* Gives a waiter as many values as it wants and as one message holds. Each value is preceded by its
 * size. */
static void give(struct gw_sched *sched, struct gw_sync *sync, struct gw_sync_waiter *waiter)
{
    uint64_t most = waiter->number ? waiter->number : 1;
    uint32_t count = 0, bytes = 0;
    const struct gw_sync_item *items = sync->items.items;
    while (count < most && count < sync->filled) {
        uint32_t size = items[(sync->first + count) % sync->items.count].size;
        if (count && bytes + size + 4 > GW_SYNC_VALUE_BYTES)
            break;
        bytes += size + 4;
        count++;
    }
    uint8_t *values = gw_arena_alloc(&sched->step.effects->arena, bytes + 1), *to = values;
    GW_MUST_PTR(values);
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_sync_item *item = &items[(sync->first + i) % sync->items.count];
        memcpy(to, &item->size, 4);
        memcpy(to + 4, item->data, item->size);
        to += item->size + 4;
    }
    struct gw_msg_synced *synced =
        &gw_sched_send(sched, waiter->session->remote, GW_MESSAGE_synced)->synced;
    synced->request = waiter->request;
    synced->text = "";
    synced->number = count;
    synced->value = (struct gw_bin){values, bytes};
    gw_sched_sync_take(sched, sync, count);
    gw_sync_leave(sched, waiter);
}

static bool has_room(const struct gw_sync *sync, const struct gw_sync_waiter *put)
{
    return sync->filled < sync->count &&
           (sync->filled == 0 || sync->bytes + put->size <= GW_SYNC_QUEUE_BYTES_MAX);
}

static void refuse_closed(struct gw_sched *sched, const struct gw_sync *sync,
                          struct gw_session *session, uint64_t request)
{
    gw_sync_refuse(sched, session, request, GW_ECLOSED, "queue %s is closed", sync->name);
}

void gw_sync_queue_serve(struct gw_sched *sched, struct gw_sync *sync)
{
    for (bool more = true; more;) {
        struct gw_sync_waiter *put = sync->waiters[1].first, *get = sync->waiters[0].first;
        more = false;
        if (put && has_room(sync, put)) {
            gw_sched_sync_put(sched, sync, (struct gw_bin){put->value, put->size});
            gw_sync_answer(sched, put->session, put->request, 0, (struct gw_bin){0});
            gw_sync_leave(sched, put);
            more = true;
        }
        if (get && sync->filled > 0) {
            give(sched, sync, get);
            more = true;
        }
    }
    while (sync->closed && sync->filled == 0 && sync->waiters[0].first) {
        struct gw_sync_waiter *get = sync->waiters[0].first;
        refuse_closed(sched, sync, get->session, get->request);
        gw_sync_leave(sched, get);
    }
}

static void on_open(struct gw_sched *sched, struct gw_session *session,
                    const struct gw_msg_sync *message)
{
    uint64_t bound = message->number ? message->number : GW_SYNC_QUEUE_DEFAULT;
    if (bound > GW_SYNC_COUNT_MAX) {
        gw_sync_refuse(sched, session, message->request, GW_EINVAL,
                       "queue %s: at most %d values, not %llu", message->name, GW_SYNC_COUNT_MAX,
                       (unsigned long long)bound);
        return;
    }
    struct gw_sync *sync = gw_sync_make(sched, session, message, (uint32_t)bound);
    if (sync && sync->count != bound)
        gw_sync_refuse(sched, session, message->request, GW_EEXIST,
                       "queue %s already exists, for %u values", sync->name, sync->count);
    else if (sync && sync->closed)
        refuse_closed(sched, sync, session, message->request);
    else if (sync)
        gw_sync_answer(sched, session, message->request, sync->count, (struct gw_bin){0});
}

/* Closes a queue. Clients can still take the values in it. Clients that wait to put a value get an
 * error. */
static void on_close(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message)
{
    struct gw_sync *sync = gw_sync_make(sched, session, message, GW_SYNC_QUEUE_DEFAULT);
    if (!sync)
        return;
    gw_sched_sync_close(sync);
    while (sync->waiters[1].first) {
        struct gw_sync_waiter *put = sync->waiters[1].first;
        refuse_closed(sched, sync, put->session, put->request);
        gw_sync_leave(sched, put);
    }
    gw_sync_queue_serve(sched, sync);
    gw_sync_answer(sched, session, message->request, 0, (struct gw_bin){0});
}

int gw_sync_queue_on(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message)
{
    struct gw_sync *sync;
    switch (message->verb) {
    case GW_SYNC_OPEN:
        on_open(sched, session, message);
        return 0;
    case GW_SYNC_CLOSE:
        on_close(sched, session, message);
        return 0;
    case GW_SYNC_PUT:
    case GW_SYNC_GET:
        sync = gw_sync_make(sched, session, message, GW_SYNC_QUEUE_DEFAULT);
        if (sync && sync->closed && message->verb == GW_SYNC_PUT)
            refuse_closed(sched, sync, session, message->request);
        else if (sync)
            gw_sync_wait(sched, sync, session, message, gw_sync_queue_serve);
        return 0;
    default:
        return GW_EPROTO;
    }
}
