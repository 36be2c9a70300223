/* The hold after a restart of the scheduler.
 *
 * Invariant: a worker to which any message was sent is in the list of workers in the journal, so a
 * restarted scheduler waits for it. A worker ends what it runs GW_FENCE_NS after it last heard from
 * a scheduler. Therefore nothing runs any more at a worker that has not come back GW_LOST_NS after
 * the restart. */
#include "scheduler/core/membership/hold.h"

#include "graph/base/text.h"
#include "graph/wire/timeouts.h"
#include "scheduler/core/lifecycle/gang_control.h"
#include "scheduler/core/lifecycle/worker_report.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/model/model.h"

#include <string.h>

/* -- List of connected workers ------------------------------------------------------------- */

static void settle_leaving(struct gw_sched *sched)
{
    for (size_t i = sched->hold.known.count; i-- > 0 && sched->hold.leaving;) {
        const struct gw_known *known = &sched->hold.known.items[i];
        if (known->until_ns && known->until_ns <= sched->now_ns)
            GW_FACT(sched, worker_left, .incarnation = known->incarnation);
    }
}

static uint64_t leaving_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (size_t i = 0; i < sched->hold.known.count && sched->hold.leaving; i++) {
        const struct gw_known *known = &sched->hold.known.items[i];
        if (known->until_ns && known->until_ns < deadline_ns)
            deadline_ns = known->until_ns;
    }
    return deadline_ns;
}

void gw_sched_hold_on_gone(struct gw_sched *sched, const char *name)
{
    for (size_t i = sched->hold.known.count; i-- > 0;) {
        const struct gw_known *known = &sched->hold.known.items[i];
        if (known->awaited && strcmp(known->name, name) == 0)
            GW_FACT(sched, worker_left, .incarnation = known->incarnation);
    }
}

bool gw_sched_hold_is_coming(const struct gw_sched *sched, const char *name)
{
    for (size_t i = 0; i < sched->hold.known.count && sched->hold.until_ns; i++)
        if (sched->hold.known.items[i].awaited &&
            strcmp(sched->hold.known.items[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_REJOINING && worker->remote &&
            strcmp(worker->remote->name, name) == 0)
            return true;
    }
    return false;
}

void gw_sched_hold_on_committed(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->joined && worker->state == GW_WORKER_REJOINING)
            gw_sched_worker_report_ready(sched, worker);
    }
}

/* -- The hold ------------------------------------------------------------------------------ */

void gw_sched_hold_begin(struct gw_sched *sched)
{
    if (sched->hold.known.count && sched->options.keeps_workers)
        gw_sched_hold_start(sched, sched->now_ns + GW_LOST_NS);
    else
        gw_sched_gang_control_over(sched);
}

void gw_sched_hold_settle(struct gw_sched *sched)
{
    settle_leaving(sched);
    if (!sched->hold.until_ns ||
        (sched->now_ns < sched->hold.until_ns && gw_sched_hold_awaits(sched)))
        return;
    gw_sched_hold_end(sched);
    gw_sched_adopt_over(sched);
    gw_sched_gang_control_over(sched);
    for (size_t i = sched->hold.known.count; i-- > 0;)
        if (sched->hold.known.items[i].awaited)
            GW_FACT(sched, worker_left, .incarnation = sched->hold.known.items[i].incarnation);
}

uint64_t gw_sched_hold_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = leaving_deadline_ns(sched);
    return sched->hold.until_ns && sched->hold.until_ns < deadline_ns ? sched->hold.until_ns
                                                                      : deadline_ns;
}

void gw_sched_hold_explain(const struct gw_sched *sched, const char *may, char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    char passed[GW_TEXT_DURATION_ROOM], most[GW_TEXT_DURATION_ROOM];
    uint32_t said = 0;
    gw_text_say(&text, "the scheduler restarted %s ago and waits up to %s for workers that %s",
                gw_text_duration(sched->now_ns - sched->start_ns, passed),
                gw_text_duration(GW_LOST_NS, most), may);
    for (size_t i = 0; i < sched->hold.known.count; i++)
        if (sched->hold.known.items[i].awaited)
            gw_text_say(&text, "%s %s", said++ ? "," : ":", sched->hold.known.items[i].name);
}
