/* Begin and end of the wait for workers of the previous term. */
#include "scheduler/core/model/changes/changes.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/jobs/pending.h"
#include "scheduler/core/model/state.h"

void gw_sched_hold_start(struct gw_sched *sched, uint64_t until_ns)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        sched->hold.known.items[i].awaited = true;
    sched->hold.until_ns = until_ns;
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        job->awaits = job->detached && job->state == GW_JOB_RUNNING;
        for (size_t i = 0; i < job->queues.count && job->awaits; i++)
            gw_sched_queue_hold(sched, job->queues.items[i]);
    }
}

void gw_sched_hold_end(struct gw_sched *sched)
{
    sched->hold.until_ns = 0;
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        if (!job->awaits)
            continue;
        job->awaits = false;
        for (size_t i = 0; i < job->queues.count && !job->paused; i++)
            gw_sched_queue_let(sched, job->queues.items[i]);
        gw_sched_actor_calls_let(sched, job);
    }
    sched->freed = true;
    gw_sched_objects_absent_over(sched);
    gw_sched_pending_on_back(sched);
}
