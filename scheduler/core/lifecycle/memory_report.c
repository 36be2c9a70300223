/* Reports of workers about their memory. */

#include "scheduler/core/lifecycle/memory_report.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/outbox.h"

/* Asks a worker to return the attempts that it has not begun, because they can run elsewhere or
 * later. Calls of an actor are not taken back: later calls would overtake
 * them, and the state of their actor is already at this worker. */
void gw_sched_memory_report_take_back(struct gw_sched *sched, struct gw_worker *worker)
{
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->state == GW_ATTEMPT_SENT && !attempt->gang && !attempt->job->calls_of)
            gw_sched_outbox_kill(sched, worker,
                                 &(struct gw_kill_row){attempt->id, 0, GW_KILL_TAKE_BACK});
    }
}

void gw_sched_memory_on_report(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_memory *report)
{
    if (worker->state != GW_WORKER_READY && worker->state != GW_WORKER_REJOINING)
        return;
    bool was_open = worker->memory.state == GW_MEMORY_OPEN;
    gw_sched_memory_take_report(sched, worker, report);
    if (was_open && report->state != GW_MEMORY_OPEN)
        gw_sched_memory_report_take_back(sched, worker);
}

/* Returns the job of an attempt, whose claim may still wait after a restart, or NULL. */
static struct gw_job *job_of(struct gw_sched *sched, const struct gw_worker *worker, uint32_t slot,
                             uint64_t attempt, uint32_t rank)
{
    if (slot != GW_NO_INDEX)
        return sched->attempts.items[slot].job;
    const struct gw_late_claim *late =
        sched->late_claims ? gw_sched_late_claim_find(worker, attempt, rank) : NULL;
    return late ? gw_sched_job_find(sched, late->job) : NULL;
}

int gw_sched_memory_on_measured(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_msg_measured *measured)
{
    for (uint32_t i = 0; i < measured->attempt.count; i++) {
        const uint64_t id = gw_col64_at(measured->attempt, i);
        const uint32_t rank = gw_col32_at(measured->rank, i);
        const uint64_t bytes = gw_col64_at(measured->bytes, i);
        const uint64_t so_far_ns = gw_col64_at(measured->so_far_ns, i);
        uint32_t slot = gw_sched_attempt_slot(sched, worker, id, rank);
        if (slot == GW_NO_INDEX)
            slot = gw_sched_gang_slot(sched, worker, id, rank);
        struct gw_job *job = job_of(sched, worker, slot, id, rank);
        if (!job)
            continue;
        gw_job_usage_measured(job, gw_col64_at(measured->cpu_ns, i), bytes);
        if (slot != GW_NO_INDEX && (gw_col64_at(measured->cpu_ns, i) || so_far_ns))
            gw_job_usage_so_far(&sched->attempts.items[slot], so_far_ns);
        if (slot != GW_NO_INDEX && rank == GW_RANK_NONE && bytes)
            gw_sched_memory_measured(sched, slot, bytes);
    }
    return 0;
}
