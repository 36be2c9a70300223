/* A task has ended well. */

#include "scheduler/core/lifecycle/task_done.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/announce.h"

void gw_sched_task_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        const struct gw_results *results)
{
    gw_sched_places_keep(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_DONE,
            .attempt = job->tasks.attempt[row], .text = "", .results = *results);
    gw_sched_announce_task(sched, job, row);
}
