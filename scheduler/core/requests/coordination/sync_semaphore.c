/* Semaphores and locks. Sessions hold leases of them. A lock is a semaphore with one lease, and is
 * created by the first client that asks for it. */
#include "scheduler/core/requests/coordination/sync.h"

enum { FENCE_TERM_SHIFT = 40 };

/* Returns a fence number that is larger than those of all earlier leases, also of earlier terms of
 * the scheduler. */
static uint64_t next_fence(const struct gw_sched *sched)
{
    uint64_t first = sched->term << FENCE_TERM_SHIFT;
    return sched->fence < first ? first : sched->fence + 1;
}

void gw_sync_semaphore_serve(struct gw_sched *sched, struct gw_sync *sync)
{
    while (sync->waiters[0].first && sync->held < sync->count) {
        struct gw_sync_waiter *waiter = sync->waiters[0].first;
        uint64_t fence = next_fence(sched);
        gw_sched_sync_lease(sched, sync, waiter->session, fence);
        gw_sync_answer(sched, waiter->session, waiter->request, fence, (struct gw_bin){0});
        gw_sync_leave(sched, waiter);
    }
}

static void on_open(struct gw_sched *sched, struct gw_session *session,
                    const struct gw_msg_sync *message)
{
    if (message->number < 1 || message->number > GW_SYNC_COUNT_MAX) {
        gw_sync_refuse(sched, session, message->request, GW_EINVAL,
                       "semaphore %s: 1 to %d leases, not %llu", message->name, GW_SYNC_COUNT_MAX,
                       (unsigned long long)message->number);
        return;
    }
    struct gw_sync *sync = gw_sync_make(sched, session, message, (uint32_t)message->number);
    if (sync && sync->count != message->number)
        gw_sync_refuse(sched, session, message->request, GW_EEXIST,
                       "semaphore %s already exists, with %u leases", sync->name, sync->count);
    else if (sync)
        gw_sync_answer(sched, session, message->request, sync->count, (struct gw_bin){0});
}

static void on_acquire(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_sync *message)
{
    struct gw_sync *sync;
    if (message->kind == GW_SYNC_LOCK)
        sync = gw_sync_make(sched, session, message, 1);
    else if (!(sync = gw_sync_find(sched, session->remote->uid, message->kind, message->name)))
        gw_sync_refuse(sched, session, message->request, GW_ENOENT,
                       "there is no semaphore %s: `gangway sync open semaphore` or "
                       "gw_semaphore_open makes one",
                       message->name);
    if (sync)
        gw_sync_wait(sched, sync, session, message, gw_sync_semaphore_serve);
}

static void on_release(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_sync *message)
{
    const char *kind = message->kind == GW_SYNC_LOCK ? "lock" : "semaphore";
    struct gw_sync *sync = gw_sync_find(sched, session->remote->uid, message->kind, message->name);
    if (!sync || !gw_sync_lease_of(sync, session)) {
        gw_sync_refuse(sched, session, message->request, GW_EINVAL,
                       "%s %s is not held by this client%s", kind, message->name,
                       sync ? "" : ": there is none of that name");
        return;
    }
    gw_sched_sync_return(sync, session, 1);
    gw_sync_answer(sched, session, message->request, 0, (struct gw_bin){0});
    gw_sync_semaphore_serve(sched, sync);
    gw_sync_tidy(sched, sync);
}

int gw_sync_semaphore_on(struct gw_sched *sched, struct gw_session *session,
                         const struct gw_msg_sync *message)
{
    switch (message->verb) {
    case GW_SYNC_OPEN:
        if (message->kind == GW_SYNC_LOCK)
            return GW_EPROTO;
        on_open(sched, session, message);
        return 0;
    case GW_SYNC_ACQUIRE:
        on_acquire(sched, session, message);
        return 0;
    case GW_SYNC_RELEASE:
        on_release(sched, session, message);
        return 0;
    default:
        return GW_EPROTO;
    }
}
