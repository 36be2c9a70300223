/* Handles requests of clients for locks, semaphores, queues, events and variables. */

#include "scheduler/core/requests/coordination/sync_request.h"

#include "graph/base/text.h"
#include "scheduler/core/requests/coordination/sync.h"

#include <string.h>

static bool name_is_well(const char *name)
{
    size_t bytes = strlen(name);
    return bytes > 0 && bytes <= GW_SYNC_NAME_BYTES_MAX && gw_text_is_line(name, bytes);
}

void gw_sync_request_serve(struct gw_sched *sched, struct gw_sync *sync)
{
    switch (sync->kind) {
    case GW_SYNC_EVENT:
        gw_sync_event_serve(sched, sync);
        break;
    case GW_SYNC_VARIABLE:
        gw_sync_variable_serve(sched, sync);
        break;
    case GW_SYNC_QUEUE:
        gw_sync_queue_serve(sched, sync);
        break;
    default:
        gw_sync_semaphore_serve(sched, sync);
    }
}

void gw_sync_on_tick(struct gw_sched *sched)
{
    while (gw_sync_deadline_ns(sched) <= sched->now_ns) {
        struct gw_sync_waiter *waiter = sched->sync_deadlines.items[0];
        struct gw_sync *sync = waiter->sync;
        gw_sync_refuse(sched, waiter->session, waiter->request, GW_ETIMEDOUT,
                       "%s %s: the wait timed out", gw_sync_kinds[sync->kind], sync->name);
        gw_sync_leave(sched, waiter);
        gw_sync_request_serve(sched, sync); /* the requests behind it may be served now */
        gw_sync_tidy(sched, sync);
    }
}

void gw_sync_request_session_end(struct gw_sched *sched, struct gw_session *session)
{
    while (session->sync_waiters) {
        struct gw_sync *sync = session->sync_waiters->sync;
        gw_sync_leave(sched, session->sync_waiters);
        gw_sync_request_serve(sched, sync);
        gw_sync_tidy(sched, sync);
    }
    while (session->sync_leases) {
        struct gw_sync *sync = session->sync_leases->sync;
        gw_sched_sync_return(sync, session, session->sync_leases->count);
        gw_sync_request_serve(sched, sync);
        gw_sync_tidy(sched, sync);
    }
}

static void on_delete(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_sync *message)
{
    struct gw_sync *sync = gw_sync_find(sched, session->remote->uid, message->kind, message->name);
    if (!sync) {
        gw_sync_refuse(sched, session, message->request, GW_ENOENT, "there is no %s %s",
                       gw_sync_kinds[message->kind], message->name);
        return;
    }
    for (int put = 0; put < 2; put++)
        while (sync->waiters[put].first) {
            struct gw_sync_waiter *waiter = sync->waiters[put].first;
            gw_sync_refuse(sched, waiter->session, waiter->request, GW_ECANCELLED,
                           "%s %s was deleted", gw_sync_kinds[sync->kind], sync->name);
            gw_sync_leave(sched, waiter);
        }
    while (sync->leases)
        gw_sched_sync_return(sync, sync->leases->session, sync->leases->count);
    gw_sched_sync_delete(sched, sync);
    gw_sync_answer(sched, session, message->request, 0, (struct gw_bin){0});
}

void gw_sched_on_sync(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_sync *message)
{
    static int (*const on[])(struct gw_sched * sched, struct gw_session * session,
                             const struct gw_msg_sync *message) = {
        [GW_SYNC_SEMAPHORE] = gw_sync_semaphore_on, [GW_SYNC_LOCK] = gw_sync_semaphore_on,
        [GW_SYNC_EVENT] = gw_sync_event_on,         [GW_SYNC_VARIABLE] = gw_sync_variable_on,
        [GW_SYNC_QUEUE] = gw_sync_queue_on,
    };
    uint64_t request = message->request;
    if (message->kind < GW_SYNC_SEMAPHORE || message->kind > GW_SYNC_QUEUE) {
        gw_sync_refuse(sched, session, request, GW_EINVAL,
                       "there is no coordination object of kind %u", message->kind);
    } else if (!name_is_well(message->name)) {
        gw_sync_refuse(sched, session, request, GW_EINVAL,
                       "the name of a %s is 1 to %d bytes of UTF-8 without control characters",
                       gw_sync_kinds[message->kind], GW_SYNC_NAME_BYTES_MAX);
    } else if (message->value.size > GW_SYNC_VALUE_BYTES) {
        gw_sync_refuse(sched, session, request, GW_ELIMIT,
                       "%s %s: the value has %u bytes, and the limit is %u: publish it under a "
                       "name and put the name here",
                       gw_sync_kinds[message->kind], message->name, message->value.size,
                       GW_SYNC_VALUE_BYTES);
    } else if (sched->sync_bytes + message->value.size > GW_SYNC_BYTES_MAX) {
        gw_sync_refuse(
            sched, session, request, GW_ELIMIT,
            "variables and queues hold %d MiB, the limit: `gangway sync list` shows them",
            GW_SYNC_BYTES_MAX >> 20);
    } else if (message->verb == GW_SYNC_DELETE) {
        on_delete(sched, session, message);
    } else if (on[message->kind](sched, session, message) < 0) {
        gw_sync_refuse(sched, session, request, GW_EINVAL, "a %s has no verb %u",
                       gw_sync_kinds[message->kind], message->verb);
    }
}
