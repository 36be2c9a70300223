/* What waits until facts are committed: ends that are announced, and acknowledgements.
 *
 * Both leave in the order of their numbers. */
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

void gw_sched_apply_receipt_kept(struct gw_sched *sched, const struct gw_fact_receipt_kept *fact)
{
    struct gw_receipt receipt = *fact->receipt;
    receipt.number = fact->number;
    receipt.peer = fact->remote->peer;
    GW_MUST(gw_array_push(&sched->receipts, receipt));
}

void gw_sched_apply_receipts_given(struct gw_sched *sched,
                                   const struct gw_fact_receipts_given *fact)
{
    sched->receipts.count -= fact->count;
    memmove(sched->receipts.items, sched->receipts.items + fact->count,
            sched->receipts.count * sizeof *sched->receipts.items);
}
