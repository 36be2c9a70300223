/* Announcements and acknowledgements that wait until facts are committed. Both are sent in the
 * order of their fact numbers. */
#include "scheduler/core/model/clients/notify.h"

#include <string.h>

void gw_sched_apply_announcements_made(struct gw_sched *sched,
                                       const struct gw_fact_announcements_made *fact)
{
    size_t left = sched->announcements.count - fact->count;
    memmove(sched->announcements.items, sched->announcements.items + fact->count,
            left * sizeof *sched->announcements.items);
    sched->announcements.count = left;
}

void gw_sched_apply_committed(struct gw_sched *sched, const struct gw_fact_committed *fact)
{
    if (fact->number > sched->committed)
        sched->committed = fact->number;
}

void gw_sched_apply_announced(struct gw_sched *sched, const struct gw_fact_announced *fact)
{
    GW_MUST(gw_array_push(
        &sched->announcements,
        ((struct gw_announcement){fact->number, fact->job->id, fact->index, fact->kind})));
}

void gw_sched_apply_acknowledgement_waits(struct gw_sched *sched,
                                          const struct gw_fact_acknowledgement_waits *fact)
{
    struct gw_acknowledgement acknowledgement = *fact->acknowledgement;
    acknowledgement.number = fact->number;
    acknowledgement.peer = fact->remote->peer;
    GW_MUST(gw_array_push(&sched->acknowledgements, acknowledgement));
}

void gw_sched_apply_acknowledgements_given(struct gw_sched *sched,
                                           const struct gw_fact_acknowledgements_given *fact)
{
    sched->acknowledgements.count -= fact->count;
    memmove(sched->acknowledgements.items, sched->acknowledgements.items + fact->count,
            sched->acknowledgements.count * sizeof *sched->acknowledgements.items);
}
