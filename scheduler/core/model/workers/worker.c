/* Workers.
 *
 * A worker connects, registers, and becomes ready. If it registers with attempts of an earlier
 * connection, it is rejoining until they have ended, because their slots are not free before.
 * Attempts that this term adopts (adopt.h) have their slots from the start. A worker is also
 * rejoining until its registration is on disk (hold.h). A lost worker never gets the same id again.
 */
#include "scheduler/core/model/workers/worker.h"
#include "scheduler/core/model/workers/quarantine.h"

#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/queue.h"

static const struct gw_sm_state worker_states[] = {
    [GW_WORKER_CONNECTED] = {"connected", GW_SM_NEXT(GW_WORKER_REJOINING) |
                                              GW_SM_NEXT(GW_WORKER_READY) |
                                              GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_REJOINING] = {"rejoining", GW_SM_NEXT(GW_WORKER_READY) | GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_READY] = {"ready", GW_SM_NEXT(GW_WORKER_SHUTTING_DOWN) | GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_SHUTTING_DOWN] = {"shutting down", GW_SM_NEXT(GW_WORKER_LOST)},
    [GW_WORKER_LOST] = {"lost", 0},
};
struct gw_sm gw_sched_worker_sm = {"worker", worker_states,
                                   sizeof worker_states / sizeof *worker_states, NULL};

struct gw_worker *gw_sched_worker_find(const struct gw_sched *sched, uint32_t id)
{
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->id == id)
            return sched->workers.items[i];
    return NULL;
}

/* -- Registration ----------------------------------------------------------------------------- */

void gw_sched_worker_clear(struct gw_worker *worker, uint64_t attempt, uint32_t rank)
{
    for (size_t i = worker->stale.count; i-- > 0;)
        if (worker->stale.items[i].attempt == attempt && worker->stale.items[i].rank == rank)
            gw_array_remove_swap(&worker->stale, i);
}

/* -- Heartbeats ------------------------------------------------------------------------------- */

void gw_sched_worker_beat(struct gw_worker *worker, uint64_t number, uint64_t memory_used_bytes)
{
    worker->beat_seen = number;
    worker->memory_used_bytes = memory_used_bytes;
}

void gw_sched_worker_beat_sent(struct gw_sched *sched, uint64_t now_ns)
{
    sched->beat_ns = now_ns + sched->options.heartbeat_ns;
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i])
            sched->workers.items[i]->beats_sent++;
}

/* -- Room ------------------------------------------------------------------------------------- */

/* Returns true if the worker has attempts that run, apart from tasks without a slot. */
static bool is_busy(const struct gw_sched *sched, const struct gw_worker *worker)
{
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->blocked && !gw_sched_queue_class_slotless(attempt->lane->shape))
            return true;
    }
    return false;
}

bool gw_sched_worker_fits(const struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_resource_class *shape)
{
    if (worker->state != GW_WORKER_READY || worker->slots_free < shape->slots ||
        worker->memory_free < shape->memory_bytes || !gw_sched_memory_lets(worker) ||
        gw_sched_quarantine_left_ns(sched, worker, shape) > 0)
        return false;
    if (shape->alone && (worker->slots_free < worker->slots || is_busy(sched, worker)))
        return false;
    return gw_sched_need_ranks(worker, shape, false) > 0;
}

bool gw_sched_worker_could(const struct gw_worker *worker, const struct gw_resource_class *shape)
{
    return worker->state == GW_WORKER_READY && worker->slots >= shape->slots &&
           worker->memory_bytes >= shape->memory_bytes &&
           gw_sched_need_ranks(worker, shape, true) > 0;
}
