/* Variables: a value with a version number that every set increases. */
#include "scheduler/core/requests/coordination/sync.h"

/* A waiter waits for a version different from the one that it has seen, so every set serves all
 * waiters. */
void gw_sync_variable_serve(struct gw_sched *sched, struct gw_sync *sync)
{
    struct gw_sync_waiter *waiter = sync->waiters[0].first, *next;
    for (; waiter && sync->version > 0; waiter = next) {
        next = waiter->next;
        if (waiter->number == sync->version)
            continue;
        gw_sync_answer(sched, waiter->session, waiter->request, sync->version,
                       (struct gw_bin){sync->value.data, sync->value.size});
        gw_sync_leave(sched, waiter);
    }
}

int gw_sync_variable_on(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_sync *message)
{
    if (message->verb != GW_SYNC_SET && message->verb != GW_SYNC_REPLACE &&
        message->verb != GW_SYNC_WAIT)
        return GW_EPROTO;
    if (message->verb != GW_SYNC_WAIT && message->value.size == 0) {
        gw_sync_refuse(sched, session, message->request, GW_EINVAL,
                       "variable %s: the new value is missing", message->name);
        return 0;
    }
    struct gw_sync *sync = gw_sync_find(sched, session->remote->uid, message->kind, message->name);
    uint64_t version = sync ? sync->version : 0;
    if (message->verb == GW_SYNC_REPLACE && version != message->number) {
        gw_sync_refuse(sched, session, message->request, GW_EAGAIN,
                       "variable %s now has version %llu, not %llu", message->name,
                       (unsigned long long)version, (unsigned long long)message->number);
        return 0;
    }
    if (!sync && !(sync = gw_sync_make(sched, session, message, 0)))
        return 0;
    if (message->verb == GW_SYNC_WAIT) {
        gw_sync_wait(sched, sync, session, message, gw_sync_variable_serve);
        return 0;
    }
    gw_sched_sync_assign(sched, sync, message->value);
    gw_sync_answer(sched, session, message->request, sync->version, (struct gw_bin){0});
    gw_sync_variable_serve(sched, sync);
    return 0;
}
