/* The end of an attempt of an actor. */

#include "scheduler/core/lifecycle/actor_end.h"

#include "scheduler/core/lifecycle/task_done.h"
#include "scheduler/core/model/model.h"

bool gw_sched_actor_end_stood(const struct gw_job *job)
{
    return job->actor && job->actor->state == GW_ACTOR_ALIVE;
}

void gw_sched_actor_end_again(struct gw_sched *sched, struct gw_job *job)
{
    if (gw_sched_actor_end_stood(job))
        GW_FACT(sched, actor_moved, .actor = job->actor, .state = GW_ACTOR_RESTARTING);
}

bool gw_sched_actor_end_well(struct gw_sched *sched, struct gw_job *job)
{
    static const uint8_t nil[] = {0xc0};
    if (!job->actor || job->actor->state != GW_ACTOR_ENDING)
        return false;
    struct gw_result result = {.bytes = sizeof nil, .value = nil, .size = sizeof nil};
    gw_sched_task_done(sched, job, 0, &(struct gw_results){&result, 1});
    return true;
}
