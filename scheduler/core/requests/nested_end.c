/* Tasks that act as clients end with all that they opened. */

#include "scheduler/core/requests/nested_end.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/remote.h"
#include "scheduler/core/send/effect.h"

void gw_sched_nested_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->orphaned.count; i++) {
        struct gw_remote *remote = gw_sched_access_remote(sched, sched->orphaned.items[i]);
        if (!remote) /* its connection closed in the same step */
            continue;
        gw_sched_close(sched, remote);
        gw_sched_remote_on_close(sched, remote->peer, 0);
    }
    gw_sched_noted_orphaned(sched);
}
