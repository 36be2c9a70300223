/* Events. While an event is set, a waiting client continues immediately. While it is cleared, the
 * client waits. */
#include "scheduler/core/requests/coordination/sync.h"

void gw_sync_event_serve(struct gw_sched *sched, struct gw_sync *sync)
{
    while (sync->set && sync->waiters[0].first) {
        struct gw_sync_waiter *waiter = sync->waiters[0].first;
        gw_sync_answer(sched, waiter->session, waiter->request, 0, (struct gw_bin){0});
        gw_sync_leave(sched, waiter);
    }
}

int gw_sync_event_on(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message)
{
    if (message->verb != GW_SYNC_SET && message->verb != GW_SYNC_CLEAR &&
        message->verb != GW_SYNC_WAIT)
        return GW_EPROTO;
    struct gw_sync *sync = gw_sync_make(sched, session, message, 0);
    if (!sync)
        return 0;
    if (message->verb == GW_SYNC_WAIT) {
        gw_sync_wait(sched, sync, session, message, gw_sync_event_serve);
        return 0;
    }
    gw_sched_sync_flag(sync, message->verb == GW_SYNC_SET);
    gw_sync_answer(sched, session, message->request, 0, (struct gw_bin){0});
    gw_sync_event_serve(sched, sync);
    gw_sync_tidy(sched, sync);
    return 0;
}
