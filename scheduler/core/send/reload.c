/* The core reads no files, so this request becomes an effect. */
#include "scheduler/core/send/reload.h"

#include "scheduler/core/send/send.h"

#include <string.h>

bool gw_sched_reload_ask(struct gw_sched *sched, struct gw_remote *remote,
                         const struct gw_msg_query *query)
{
    struct gw_error error;
    if (strcmp(query->what, "reload") != 0)
        return false;
    if (!remote->admin) {
        (void)gw_error_set(&error, GW_EPERM,
                           "only an admin, or the user who started this cluster, may reload the "
                           "configuration");
        gw_sched_send_reply(sched, remote, query->request, &error);
        return true;
    }
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_RELOAD);
    effect->peer = remote->peer;
    effect->number = query->request;
    return true;
}
