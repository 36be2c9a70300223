/* Makes tasks ready. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/workers/queue.h"

#include <assert.h>

void gw_sched_task_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    assert(job->tasks.waiting[row] == 0);
    if (job->tasks.flags[row] & GW_TASK_ALIAS) { /* an alias does not run: it is done now */
        GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, row}));
        return;
    }
    if (sched->hold.until_ns)
        gw_sched_recovery_on_ready(sched, job, row);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_READY);
    GW_LOG_EVENT_USUAL(sched, job, .kind = GW_LOGGED_READY, .index = row);
    gw_sched_queue_add(sched, gw_sched_task_ready_queue(sched, job, row), row);
    gw_sched_actor_row_ready(sched, job, row);
}

struct gw_queue *gw_sched_task_ready_queue(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    if (!(job->tasks.flags[row] & GW_TASK_ALONE) || gw_sched_queue_class_slotless(spec->shape))
        return spec->queue;
    struct gw_resource_class key = *spec->shape;
    key.alone = true;
    return gw_sched_queue_for(sched, job, gw_sched_queue_class_for(sched, &key),
                              spec->message.priority);
}
