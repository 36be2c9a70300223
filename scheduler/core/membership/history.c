/* Whether a worker knows more of this cluster than this state. */

#include "scheduler/core/membership/history.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/effect.h"

#include <stdio.h>
#include <string.h>

void gw_sched_history_tell(const struct gw_sched *sched, struct gw_msg_heartbeat *heartbeat)
{
    heartbeat->life = sched->history.life;
    heartbeat->commits = sched->history.commits;
}

bool gw_sched_history_check(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_registration *registration)
{
    const struct gw_history *history = &sched->history;
    const struct gw_remote *remote = worker->remote;
    char text[512];
    if (registration->commits <= history->began_with || registration->life == history->life ||
        !gw_sched_history_is_of(sched, registration))
        return true;
    (void)snprintf(text, sizeof text,
                   "it ended with commit %llu when this scheduler started, and %.200s%s%.100s was "
                   "told of commit %llu: %llu are missing",
                   (unsigned long long)history->began_with, remote->name,
                   *remote->address ? " on " : "", remote->address,
                   (unsigned long long)registration->commits,
                   (unsigned long long)(registration->commits - history->began_with));
    struct gw_effect *effect = gw_sched_effect(sched, GW_EFFECT_DAMAGED);
    effect->number = registration->commits - history->began_with;
    effect->bytes = (struct gw_bin){gw_sched_text(sched, text), (uint32_t)strlen(text) + 1};
    return false;
}
