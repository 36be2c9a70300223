/* Changes of state of attempts: they start, are recalled, or are killed. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/workers/worker.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <assert.h>

void gw_sched_attempt_start(struct gw_sched *sched, uint32_t slot)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    attempt->started_ns = sched->now_ns;
    if (!attempt->gang)
        GW_LOG_EVENT_USUAL(sched, attempt->job, .kind = GW_LOGGED_STARTED, .index = attempt->index,
                           .worker = attempt->worker->id,
                           .try_number = attempt->job->tasks.charges[attempt->index].tries);
    if (attempt->state == GW_ATTEMPT_KILLED)
        return; /* it was killed before; calls of actors do not end then */
    if (attempt->state == GW_ATTEMPT_RECALLED)
        gw_sched_attempt_recall_over(attempt->lane);
    gw_sm_move(&gw_sched_attempt_sm, &attempt->state, GW_ATTEMPT_RUNNING);
    attempt->job->tasks.flags[attempt->index] |= GW_TASK_STARTED;
    if (!attempt->is_long)
        attempt->is_long = gw_sched_attempt_lengthen(sched, attempt->lane);
}

/* Restores the flag that a task was being cancelled. Used only while restoring: later the state of
 * the task says so. */
void gw_sched_apply_cancel_wanted(struct gw_sched *sched, const struct gw_fact_cancel_wanted *fact)
{
    if (!sched->restoring)
        return;
    struct gw_job *job = gw_sched_job_find(sched, fact->job);
    gw_sched_range_catch_up(sched, job, fact->index);
    uint16_t *flags = &job->tasks.flags[fact->index];
    *flags = (uint16_t)(fact->wanted ? *flags | GW_TASK_CANCELS : *flags & ~GW_TASK_CANCELS);
}

bool gw_sched_attempt_lengthen(struct gw_sched *sched, struct gw_worker_queue *lane)
{
    /* The worker starts a prefetched task if it has free slots, also if no debit covers them. */
    if (lane->debits == lane->longs && !gw_sched_worker_fits(sched, lane->worker, lane->shape))
        return false;
    if (lane->debits == lane->longs)
        gw_sched_worker_queue_debit(sched, lane);
    lane->longs++;
    gw_sched_worker_queue_rings_update(sched, lane);
    return true;
}

void gw_sched_attempt_recall(struct gw_sched *sched, uint32_t slot)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    gw_sm_move(&gw_sched_attempt_sm, &attempt->state, GW_ATTEMPT_RECALLED);
    attempt->lane->recalled++;
    attempt->lane->shape->recalled++;
    GW_LOG_EVENT(sched, attempt->job, .kind = GW_LOGGED_RECALLED, .index = attempt->index,
                 .worker = attempt->worker->id, .detail = attempt->pipelined);
}

uint32_t gw_sched_attempt_pipeline_task(struct gw_sched *sched,
                                        const struct gw_attempt_new *attempt)
{
    gw_sm_move(&gw_sched_task_sm, &attempt->job->tasks.state[attempt->index], GW_TASK_PIPELINED);
    return gw_sched_attempt_begin(sched, attempt);
}

uint32_t gw_sched_attempt_place_task(struct gw_sched *sched, const struct gw_attempt_new *attempt)
{
    struct gw_job *job = attempt->job;
    uint32_t row = attempt->index;
    gw_sched_queue_remove(sched, gw_sched_task_ready_queue(sched, job, row), row);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_PLACED);
    if (sched->reserved & GW_RESERVATIONS_HELD)
        gw_sched_reservation_served(sched, job, row);
    uint32_t slot = gw_sched_attempt_begin(sched, attempt);
    sched->attempts.items[slot].fetches =
        gw_sched_object_inputs_fetch(sched, job, row, attempt->worker);
    return slot;
}
