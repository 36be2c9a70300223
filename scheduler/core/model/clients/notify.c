/* Announcements and acknowledgements that wait until facts are committed. Both are sent in the
 * order of their fact numbers. */
#include "scheduler/core/model/clients/notify.h"

#include <string.h>

void gw_sched_notify_announced(struct gw_sched *sched, size_t count)
{
    size_t left = sched->announcements.count - count;
    memmove(sched->announcements.items, sched->announcements.items + count,
            left * sizeof *sched->announcements.items);
    sched->announcements.count = left;
}

void gw_sched_notify_commit(struct gw_sched *sched, uint64_t number)
{
    if (number > sched->committed)
        sched->committed = number;
}

void gw_sched_notify_announce(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                              uint32_t kind, uint64_t number)
{
    GW_MUST(gw_array_push(&sched->announcements,
                          ((struct gw_announcement){number, job->id, index, kind})));
}

void gw_sched_notify_acknowledge_later(struct gw_sched *sched,
                                       const struct gw_acknowledgement *waits, uint64_t number,
                                       const struct gw_remote *remote)
{
    struct gw_acknowledgement acknowledgement = *waits;
    acknowledgement.number = number;
    acknowledgement.peer = remote->peer;
    GW_MUST(gw_array_push(&sched->acknowledgements, acknowledgement));
}

void gw_sched_notify_acknowledged(struct gw_sched *sched, size_t count)
{
    sched->acknowledgements.count -= count;
    memmove(sched->acknowledgements.items, sched->acknowledgements.items + count,
            sched->acknowledgements.count * sizeof *sched->acknowledgements.items);
}
