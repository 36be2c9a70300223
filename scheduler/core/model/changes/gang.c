/* Changes of state of gangs. */

#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/changes/changes.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/checkpoint.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/jobs/pending.h"
#include "scheduler/core/model/workers/ageing.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <msgpack.h>
#include <stdlib.h>

void gw_sched_gang_place(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                         struct gw_resource_class *shape, const struct gw_placed_rank *placed_ranks,
                         uint32_t placed_rank_count)
{
    struct gw_tasks *tasks = &job->tasks;
    struct gw_gang_attempt *gang = calloc(1, sizeof *gang);
    GW_MUST_PTR(gang);
    gang->ranks = calloc(placed_rank_count, sizeof *gang->ranks);
    GW_MUST_PTR(gang->ranks);
    gang->job = job;
    gang->index = index;
    gang->count = gang->live = placed_rank_count;
    gang->id = gw_sched_attempt_next(sched);
    gang->cause_rank = GW_NO_INDEX;
    tasks->charges[index].tries++;
    for (uint32_t i = 0; i < gang->count; i++) {
        struct gw_worker *worker = placed_ranks[i].worker;
        gang->ranks[i].worker = worker->id;
        gang->ranks[i].slot =
            gw_sched_attempt_add(sched, &(struct gw_attempt_new){.job = job,
                                                                 .index = index,
                                                                 .rank = i,
                                                                 .worker = worker,
                                                                 .shape = shape,
                                                                 .gang = gang,
                                                                 .is_long = true,
                                                                 .gpus = placed_ranks[i].gpus});
        (void)gw_sched_object_inputs_fetch(sched, job, index, worker);
        GW_MUST(gw_array_push(&job->places,
                              ((struct gw_place){.attempt = gang->id,
                                                 .index = index,
                                                 .rank = i,
                                                 .worker = worker->id,
                                                 .number = tasks->charges[index].tries})));
    }
    gw_sched_pending_on_placed(sched, job);
    GW_MUST(gw_map_put(&sched->gangs, gang->id, (uintptr_t)gang));
    gw_sched_checkpoint_choose(sched, gang);
    gw_sched_gang_enter_preparing(sched, gang, gw_sched_gang_prepare_ns(sched, gang));

    struct gw_queue *queue = gw_sched_task_ready_queue(sched, job, index);
    gw_sched_queue_remove(sched, queue, index);
    gw_sched_ageing_again(sched, queue);
    gw_sched_reservation_served(sched, job, index);
    gw_sm_move(&gw_sched_task_sm, &tasks->state[index], GW_TASK_PLACED);
    tasks->attempt[index] = gang->id;
    gw_sched_event_log_gang(sched, gang);
    gw_sched_checkpoint_tell(sched, gang);
    job->placed++;
}

void gw_sched_gang_grow(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t ranks)
{
    gang->growing = true;
    GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_GROWS, .index = gang->index,
                 .count = gang->count, .number = ranks,
                 .detail =
                     gang->job->specs.items[gang->job->tasks.spec[gang->index]].message.kind ==
                     GW_SPEC_COMMAND,
                 .try_number = gang->job->tasks.charges[gang->index].tries);
}
