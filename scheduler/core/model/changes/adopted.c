/* Adopts the attempts of a worker that reconnected after a restart of the scheduler.
 * An adopted attempt gets a slot of the attempt table as if it had been placed. Invariant: its id
 * is of an earlier term. */
#include "scheduler/core/model/changes/changes.h"
#include "scheduler/core/model/jobs/asked.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/pending.h"
#include "scheduler/core/model/jobs/range.h"
#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <stdlib.h>

static struct gw_attempt_new attempt_of(const struct gw_adopted *adopted, struct gw_job *job,
                                        uint32_t row)
{
    return (struct gw_attempt_new){.job = job,
                                   .index = row,
                                   .rank = GW_RANK_NONE,
                                   .worker = adopted->worker,
                                   .shape = adopted->shape,
                                   .prefetched = adopted->ended || adopted->queued,
                                   .is_long = !adopted->ended && !adopted->queued,
                                   .adopted = true,
                                   .ran_ns = adopted->ran_ns,
                                   .ends_next = adopted->ended,
                                   .gpus = adopted->gpus,
                                   .gpu_count = adopted->gpu_count};
}

static void leave_queue(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    gw_sched_queue_remove(sched, gw_sched_task_ready_queue(sched, job, row), row);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_PLACED);
    job->placed++;
    gw_sched_pending_on_placed(sched, job);
}

static void tell_adopted(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                         const struct gw_adopted *adopted, uint32_t count)
{
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_ADOPTED, .index = row, .worker = adopted->worker->id,
                 .try_number = job->tasks.charges[row].tries, .detail = adopted->ended,
                 .count = count);
}

void gw_sched_adopted_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                           const struct gw_adopted *adopted)
{
    struct gw_tasks *tasks = &job->tasks;
    struct gw_attempt_new options = attempt_of(adopted, job, row);
    leave_queue(sched, job, row);
    tasks->charges[row].tries++;
    options.id = adopted->attempt;
    uint32_t slot = gw_sched_attempt_add(sched, &options);
    tasks->attempt[row] = options.id;
    tasks->worker[row] = options.worker->id;
    tasks->flags[row] |= GW_TASK_STARTED;
    gw_sched_range_row_placed(sched, job);
    tell_adopted(sched, job, row, adopted, 0);
    sched->attempts.items[slot].told = sched->event_log.told;
}

void gw_sched_adopted_gang(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                           uint64_t attempt, uint32_t world)
{
    struct gw_gang_attempt *gang = calloc(1, sizeof *gang);
    GW_MUST_PTR(gang);
    gang->ranks = calloc(world, sizeof *gang->ranks);
    GW_MUST_PTR(gang->ranks);
    gang->job = job;
    gang->index = index;
    gang->count = world;
    gang->id = attempt;
    gang->state = GW_GANG_RECOVERING;
    gang->cause_rank = GW_NO_INDEX;
    for (uint32_t i = 0; i < gang->count; i++) {
        gang->ranks[i].slot = GW_NO_INDEX;
        GW_MUST(gw_array_push(&job->places,
                              ((struct gw_place){.attempt = gang->id,
                                                 .index = index,
                                                 .rank = i,
                                                 .number = job->tasks.charges[index].tries})));
    }
    GW_MUST(gw_map_put(&sched->gangs, gang->id, (uintptr_t)gang));
    leave_queue(sched, job, index);
    job->tasks.attempt[index] = gang->id;
    gw_sched_gang_asked_known(sched, gang);
    job->tasks.flags[index] |= GW_TASK_STARTED;
}

void gw_sched_adopted_rank(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t number,
                           const struct gw_adopted *adopted)
{
    struct gw_job *job = gang->job;
    struct gw_attempt_new options = attempt_of(adopted, job, gang->index);
    options.gang = gang;
    options.rank = number;
    options.id = number == 0 ? gang->id : 0; /* as for a gang that was placed in this term */
    struct gw_rank *rank = &gang->ranks[number];
    rank->slot = gw_sched_attempt_add(sched, &options);
    rank->worker = options.worker->id;
    rank->ready = true;
    gang->ready++;
    gang->live++;
    for (size_t i = job->places.count; i-- > 0;) {
        struct gw_place *place = &job->places.items[i];
        if (place->attempt == gang->id && place->rank == number) {
            place->worker = rank->worker;
            break;
        }
    }
    tell_adopted(sched, job, gang->index, adopted, number + 1);
    sched->attempts.items[rank->slot].told = sched->event_log.told;
}
