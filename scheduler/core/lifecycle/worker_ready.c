/* A worker is ready when no attempt of an earlier connection is left. */

#include "scheduler/core/lifecycle/worker_ready.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/log_line.h"

void gw_sched_worker_ready_perhaps(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->stale.count > 0 || !gw_sched_hold_knows(sched, worker))
        return;
    GW_FACT(sched, worker_readied, .worker = worker);
    gw_sched_log_joined(sched, worker);
}

void gw_sched_worker_on_stale(struct gw_sched *sched, struct gw_worker *worker, uint64_t attempt,
                              uint32_t rank)
{
    if (worker->state != GW_WORKER_DRAINING)
        return;
    GW_FACT(sched, worker_cleared, .worker = worker, .attempt = attempt, .rank = rank);
    gw_sched_worker_ready_perhaps(sched, worker);
}
