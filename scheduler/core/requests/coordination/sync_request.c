/* Handles requests of clients for locks, semaphores, queues, events and variables. */

#include "scheduler/core/requests/coordination/sync_request.h"

#include "scheduler/core/model/jobs/scoped_name.h"
#include "scheduler/core/model/note.h"
#include "scheduler/core/requests/coordination/sync.h"

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

/* Deletes an object; its waiting requests fail with GW_ECANCELLED. */
static void delete (struct gw_sched *sched, struct gw_sync *sync, const char *why)
{
    for (int put = 0; put < 2; put++)
        while (sync->waiters[put].first) {
            struct gw_sync_waiter *waiter = sync->waiters[put].first;
            gw_sync_refuse(sched, waiter->session, waiter->request, GW_ECANCELLED, "%s %s %s",
                           gw_sync_kinds[sync->kind], sync->name, why);
            gw_sync_leave(sched, waiter);
        }
    while (sync->leases)
        gw_sched_sync_return(sync, sync->leases->session, sync->leases->count);
    gw_sched_sync_delete(sched, sync);
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
    delete (sched, sync, "was deleted");
    gw_sync_answer(sched, session, message->request, 0, (struct gw_bin){0});
}

void gw_sync_request_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->nameless.count; i++)
        for (struct gw_sync *sync = sched->first_sync, *next; sync; sync = next) {
            next = sync->next;
            if (sync->job == sched->nameless.items[i])
                delete (sched, sync, "has ended with its job");
        }
    gw_sched_noted_nameless(sched);
}

void gw_sched_on_sync(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_sync *message)
{
    struct gw_msg_sync full = *message;
    char name[GW_SCOPED_NAME_FULL_BYTES];
    struct gw_error error;
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
        return;
    }
    const int rc = gw_scoped_name_full(sched, session, message->name, name, &error);
    full.name = name;
    if (rc < 0) {
        gw_sync_refuse(sched, session, request, rc, "%s", error.text);
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
        on_delete(sched, session, &full);
    } else if (on[message->kind](sched, session, &full) < 0) {
        gw_sync_refuse(sched, session, request, GW_EINVAL, "a %s has no verb %u",
                       gw_sync_kinds[message->kind], message->verb);
    }
}
