/* Appliers of facts about gangs. */

#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/changes/queue.h"
#include "scheduler/core/model/changes/reservation.h"
#include "scheduler/core/model/changes/task_ready.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/checkpoint.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/jobs/pending.h"
#include "scheduler/core/model/workers/ageing.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <msgpack.h>
#include <stdlib.h>

void gw_sched_apply_gang_placed(struct gw_sched *sched, const struct gw_fact_gang_placed *fact)
{
    struct gw_job *job = fact->job;
    struct gw_tasks *tasks = &job->tasks;
    struct gw_gang_attempt *gang = calloc(1, sizeof *gang);
    GW_MUST_PTR(gang);
    gang->ranks = calloc(fact->placed_rank_count, sizeof *gang->ranks);
    GW_MUST_PTR(gang->ranks);
    gang->job = job;
    gang->index = fact->index;
    gang->count = gang->live = fact->placed_rank_count;
    gang->id = gw_sched_attempt_next(sched);
    gang->cause_rank = GW_NO_INDEX;
    for (uint32_t i = 0; i < gang->count; i++) {
        struct gw_worker *worker = fact->placed_ranks[i].worker;
        gang->ranks[i].worker = worker->id;
        gang->ranks[i].slot = gw_sched_attempt_add(
            sched, &(struct gw_attempt_new){.job = job,
                                            .index = fact->index,
                                            .rank = i,
                                            .worker = worker,
                                            .shape = fact->shape,
                                            .gang = gang,
                                            .is_long = true,
                                            .gpus = fact->placed_ranks[i].gpus});
        (void)gw_sched_object_inputs_fetch(sched, job, fact->index, worker);
        GW_MUST(gw_array_push(
            &job->places, ((struct gw_place){gang->id, fact->index, i, worker->id, NULL, false})));
    }
    gw_sched_pending_on_placed(sched, job);
    GW_MUST(gw_map_put(&sched->gangs, gang->id, (uintptr_t)gang));
    gw_sched_checkpoint_choose(sched, gang);
    gw_sched_gang_enter_preparing(sched, gang, gw_sched_gang_prepare_ns(sched, gang));

    struct gw_queue *queue = gw_sched_task_ready_queue(sched, job, fact->index);
    gw_sched_queue_remove(sched, queue, fact->index);
    gw_sched_ageing_again(sched, queue);
    gw_sched_reservation_served(sched, job, fact->index);
    gw_sm_move(&gw_sched_task_sm, &tasks->state[fact->index], GW_TASK_PLACED);
    tasks->attempt[fact->index] = gang->id;
    tasks->charges[fact->index].tries++;
    gw_sched_event_log_gang(sched, gang);
    gw_sched_checkpoint_tell(sched, gang);
    job->placed++;
}

void gw_sched_apply_gang_growing(struct gw_sched *sched, const struct gw_fact_gang_growing *fact)
{
    struct gw_gang_attempt *gang = fact->gang;
    gang->growing = true;
    GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_GROWS, .index = gang->index,
                 .count = gang->count, .number = fact->ranks,
                 .detail =
                     gang->job->specs.items[gang->job->tasks.spec[gang->index]].message.kind ==
                     GW_SPEC_COMMAND,
                 .try_number = gang->job->tasks.charges[gang->index].tries);
}
