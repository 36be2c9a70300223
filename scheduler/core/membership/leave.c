/* Workers that were told to end.
 *
 * Always: sched->leaving counts those that stay for their checkpoints; none of them has an attempt,
 * or an object that counts. */
#include "scheduler/core/membership/leave.h"

#include "graph/base/planted.h"
#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/membership/worker.h"
#include "scheduler/core/send/effect.h"

#define LOOK_NS (50 * GW_NS_PER_MS) /* a gang may have ended meanwhile, or its keeper */

static void let_go(struct gw_sched *sched, struct gw_worker *worker)
{
    GW_FACT(sched, worker_let_go, .worker = worker);
    gw_sched_send(sched, worker->remote, GW_MESSAGE_shutdown)->shutdown.text =
        gw_sched_text(sched, "nothing of it is missing");
}

void gw_sched_leave_on_leaving(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_leaving *leaving)
{
    if (worker->state == GW_WORKER_LEAVING)
        return;
    if (!worker->leaves)
        GW_FACT(sched, worker_leaving, .worker = worker);
    if (!leaving->empty)
        return;
    if (worker->state == GW_WORKER_READY && !sched->shutting_down)
        gw_sched_worker_empty(sched, worker, leaving->text);
    else
        let_go(sched, worker);
}

void gw_sched_leave_settle(struct gw_sched *sched)
{
    if (!sched->leaving || sched->now_ns < sched->leave_look_ns)
        return;
    GW_FACT(sched, leaves_looked, .next_ns = sched->now_ns + LOOK_NS);
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_LEAVING || worker->let_go)
            continue;
        if (GW_PLANTED(740) || !gw_sched_checkpoint_hand_over(sched, worker))
            let_go(sched, worker);
    }
}
