/* Changes of state of actors. */

#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/changes/changes.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/workers/memory.h"

void gw_sched_actor_move(struct gw_sched *sched, struct gw_actor *actor, uint32_t state)
{
    gw_sm_move(&gw_sched_actor_sm, &actor->state, state);
    GW_LOG_EVENT(sched, actor->job, .kind = GW_LOGGED_ACTOR, .detail = (uint8_t)state);
    if (state == GW_ACTOR_RESTARTING) {
        actor->restarts++;
        actor->returning = true;
    }
    if (state == GW_ACTOR_ALIVE) {
        uint32_t slot = gw_sched_attempt_find(sched, actor->job->tasks.attempt[0]);
        struct gw_attempt *attempt = &sched->attempts.items[slot];
        attempt->stands = true;
        gw_sched_memory_aside(attempt);
        actor->samples = 0;
    }
    gw_sched_actor_touch(sched, actor);
}
