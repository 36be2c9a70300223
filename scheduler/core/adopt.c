/* Adoption.
 *
 * Always: an attempt is taken only while its task waits to be placed, so that no task has two, and
 * nothing is decided about how it ended (judged.h), so that no end counts twice. Its id is of an
 * earlier term, which no place of the table gives out. What a worker really runs may be more than
 * it has: then it is overdrawn, as by tasks that waited for others. An attempt that ended meanwhile
 * debits nothing: its end comes right behind the registration. A gang gathers only while workers
 * are awaited (hold.h). */
#include "scheduler/core/adopt.h"

#include "scheduler/core/attempt.h"
#include "scheduler/core/gang_ask.h"
#include "scheduler/core/gang_end.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/job.h"
#include "scheduler/core/judged.h"
#include "scheduler/core/need.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/range.h"
#include "scheduler/core/story.h"
#include "scheduler/core/task.h"

#include <stdio.h>
#include <stdlib.h>

enum { GPUS_MAX = 1024 };

/* A row of a registration, and what it is about. */
struct claim {
    struct gw_worker *worker;
    uint64_t attempt;
    struct gw_job *job;
    const struct gw_spec *spec;
    struct gw_shape *shape;
    uint32_t row, rank, kind, world, gpu_count;
    uint32_t gpus[GPUS_MAX];
};

static bool is_of_this_life(const struct gw_sched *sched, uint64_t attempt)
{
    return attempt >> 48 == (sched->term & 0xffff);
}

/* Whether so many ranks are a gang of this kind, or (0) it is none. */
static bool world_is_well(const struct gw_msg_spec *spec, const struct claim *claim)
{
    if (spec->ranks == 0)
        return claim->rank == GW_RANK_NONE && claim->world == 0;
    uint32_t least = spec->min_ranks ? spec->min_ranks : spec->ranks;
    return claim->world >= least && claim->world <= spec->ranks && claim->rank < claim->world;
}

static bool gpus_are_well(const struct claim *claim)
{
    const struct gw_shape *shape = claim->shape;
    const struct gw_worker *worker = claim->worker;
    if (claim->kind == GW_CLAIM_ENDED)
        return claim->gpu_count == 0;
    if (shape->gpu_if_any ? claim->gpu_count > 1 : claim->gpu_count != shape->gpus)
        return false;
    for (uint32_t i = 0; i < claim->gpu_count; i++) {
        if (claim->gpus[i] >= worker->gpu_count || (i > 0 && claim->gpus[i] <= claim->gpus[i - 1]))
            return false;
        const struct gw_gpu *gpu = &worker->gpus[claim->gpus[i]];
        if (gpu->slot != GW_NONE || gpu->twin != GW_NONE ||
            gpu->shared + shape->gpu_share > GW_GPU_WHOLE || (!shape->gpu_share && gpu->shared))
            return false;
    }
    return true;
}

static bool task_waits(const struct gw_sched *sched, const struct claim *claim)
{
    const struct gw_gang_try *gang = gw_sched_gang_find(sched, claim->attempt);
    if (gang)
        return claim->rank != GW_RANK_NONE && gang->state == GW_GANG_GATHERING &&
               gang->job == claim->job && gang->index == claim->row &&
               gang->count == claim->world && !gang->ranks[claim->rank].ready;
    return claim->job->tasks.state[claim->row] == GW_TASK_READY &&
           gw_sched_attempt_find(sched, claim->attempt) == GW_NONE &&
           (!gw_sched_judged(claim->job, claim->attempt) || GW_PLANTED(570));
}

/* What row i of a registration claims; false: nothing that could be taken. */
static bool read_claim(const struct gw_sched *sched, const struct gw_msg_registration *message,
                       uint32_t i, struct claim *claim)
{
    claim->attempt = gw_col64_at(message->attempt, i);
    claim->rank = gw_col32_at(message->attempt_rank, i);
    claim->row = gw_col32_at(message->attempt_index, i);
    claim->kind = gw_col32_at(message->attempt_claim, i);
    claim->world = gw_col32_at(message->attempt_world, i);
    claim->job = gw_sched_job_find(sched, gw_col64_at(message->attempt_job, i));
    if (!claim->attempt || is_of_this_life(sched, claim->attempt) || !claim->job ||
        claim->kind < GW_CLAIM_RUNS || claim->kind > GW_CLAIM_UNFIT ||
        claim->gpu_count > GPUS_MAX || GW_PLANTED(470))
        return false;
    struct gw_job *job = claim->job;
    if (!job->detached || job->state != GW_JOB_RUNNING || job->compacted ||
        claim->row >= job->tasks.count || !gw_sched_row_live(job, claim->row))
        return false;
    claim->spec = &job->specs.items[job->tasks.spec[claim->row]];
    const struct gw_msg_spec *spec = &claim->spec->message;
    if (spec->actor || !world_is_well(spec, claim) || !task_waits(sched, claim))
        return false;
    claim->shape = gw_sched_task_queue((struct gw_sched *)(uintptr_t)sched, job, claim->row)->shape;
    return (!claim->shape->need || gw_sched_need_ranks(claim->worker, claim->shape, true) > 0) &&
           gpus_are_well(claim);
}

/* -- Ordinary tasks ------------------------------------------------------------------------------
 */

static struct gw_attempt_new attempt_of(const struct gw_adopted *adopted, struct gw_job *job,
                                        uint32_t row)
{
    return (struct gw_attempt_new){.job = job,
                                   .index = row,
                                   .rank = GW_RANK_NONE,
                                   .worker = adopted->worker,
                                   .shape = adopted->shape,
                                   .prefetched = adopted->ended,
                                   .is_long = !adopted->ended,
                                   .adopted = true,
                                   .gpus = adopted->gpus,
                                   .gpu_count = adopted->gpu_count};
}

static void leave_queue(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    gw_sched_queue_remove(sched, gw_sched_task_queue(sched, job, row), row);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_PLACED);
    job->placed++;
    gw_sched_questions_on_placed(sched, job);
}

static void tell_adopted(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                         const struct gw_adopted *adopted, uint32_t count)
{
    GW_STORY(sched, job, .kind = GW_STORY_ADOPTED, .index = row, .worker = adopted->worker->id,
             .try_number = job->tasks.charges[row].tries, .detail = adopted->ended, .count = count);
}

void gw_sched_apply_task_adopted(struct gw_sched *sched, const struct gw_fact_task_adopted *fact)
{
    struct gw_job *job = fact->job;
    struct gw_tasks *tasks = &job->tasks;
    uint32_t row = fact->index;
    struct gw_attempt_new options = attempt_of(fact->adopted, job, row);
    leave_queue(sched, job, row);
    tasks->charges[row].tries++;
    options.id = fact->adopted->attempt;
    uint32_t slot = gw_sched_attempt_add(sched, &options);
    tasks->attempt[row] = options.id;
    tasks->worker[row] = options.worker->id;
    tasks->flags[row] |= GW_TASK_STARTED;
    gw_sched_range_row_placed(sched, job);
    tell_adopted(sched, job, row, fact->adopted, 0);
    sched->attempts.items[slot].told = sched->story.told;
}

/* It runs without what it had from its scheduler: it is taken to be ended. */
static void end_unfit(struct gw_sched *sched, const struct claim *claim)
{
    uint32_t slot = gw_sched_attempt_find(sched, claim->attempt);
    gw_sched_send_kill(sched, claim->worker,
                       &(struct gw_kill_row){claim->attempt, GW_FAIL_GRACE_NS, GW_KILL_STALE});
    GW_FACT(sched, attempt_killed, .slot = slot);
}

/* -- Gangs ---------------------------------------------------------------------------------------
 */

void gw_sched_apply_gang_adopted(struct gw_sched *sched, const struct gw_fact_gang_adopted *fact)
{
    struct gw_job *job = fact->job;
    struct gw_gang_try *gang = calloc(1, sizeof *gang);
    GW_MUST_PTR(gang);
    gang->ranks = calloc(fact->world, sizeof *gang->ranks);
    GW_MUST_PTR(gang->ranks);
    gang->job = job;
    gang->index = fact->index;
    gang->count = fact->world;
    gang->id = fact->attempt;
    gang->state = GW_GANG_GATHERING;
    gang->cause_rank = GW_NONE;
    for (uint32_t i = 0; i < gang->count; i++) {
        gang->ranks[i].slot = GW_NONE;
        GW_MUST(gw_array_push(&job->places,
                              ((struct gw_place){gang->id, fact->index, i, 0, NULL, false})));
    }
    GW_MUST(gw_map_put(&sched->gangs, gang->id, (uintptr_t)gang));
    leave_queue(sched, job, fact->index);
    job->tasks.attempt[fact->index] = gang->id;
    gw_sched_gang_ask_known(sched, gang);
    job->tasks.flags[fact->index] |= GW_TASK_STARTED;
}

void gw_sched_apply_rank_adopted(struct gw_sched *sched, const struct gw_fact_rank_adopted *fact)
{
    struct gw_gang_try *gang = fact->gang;
    struct gw_job *job = gang->job;
    struct gw_attempt_new options = attempt_of(fact->adopted, job, gang->index);
    options.gang = gang;
    options.rank = fact->rank;
    options.id = fact->rank == 0 ? gang->id : 0; /* as if it had been placed here */
    struct gw_rank *rank = &gang->ranks[fact->rank];
    rank->slot = gw_sched_attempt_add(sched, &options);
    rank->worker = options.worker->id;
    rank->ready = true;
    gang->ready++;
    gang->live++;
    for (size_t i = job->places.count; i-- > 0;) {
        struct gw_place *place = &job->places.items[i];
        if (place->attempt == gang->id && place->rank == fact->rank) {
            place->worker = rank->worker;
            break;
        }
    }
    tell_adopted(sched, job, gang->index, fact->adopted, fact->rank + 1);
    sched->attempts.items[rank->slot].told = sched->story.told;
}

static void adopt_rank(struct gw_sched *sched, const struct claim *claim,
                       const struct gw_adopted *adopted)
{
    struct gw_gang_try *gang = gw_sched_gang_find(sched, claim->attempt);
    if (!gang) {
        if (gw_sched_gang_went(claim->job, claim->row).attempt != claim->attempt)
            gw_sched_gang_goes(
                sched, claim->job, claim->row,
                (struct gw_went){claim->attempt, claim->job->tasks.charges[claim->row].tries + 1u});
        GW_FACT(sched, gang_adopted, .job = claim->job, .index = claim->row,
                .attempt = claim->attempt, .world = claim->world);
        gang = gw_sched_gang_find(sched, claim->attempt);
    }
    GW_FACT(sched, rank_adopted, .gang = gang, .rank = claim->rank, .adopted = adopted);
    if (claim->kind == GW_CLAIM_UNFIT)
        gw_sched_gang_give_up(sched, gang, "it lost what it had from the scheduler before");
    else if (gang->ready == gang->count || (GW_PLANTED(371) && gang->ready + 1 == gang->count))
        gw_sched_gang_gathered(sched, gang);
}

void gw_sched_adopt_over(struct gw_sched *sched)
{
    bool more = true;
    while (more) { /* ending one changes the table */
        size_t at = 0;
        uint64_t id, value;
        more = false;
        while (!more && gw_map_next(&sched->gangs, &at, &id, &value)) {
            struct gw_gang_try *gang = (struct gw_gang_try *)(uintptr_t)value;
            char text[128];
            uint32_t rank = 0;
            if (gang->state != GW_GANG_GATHERING)
                continue;
            while (rank + 1 < gang->count && gang->ranks[rank].ready)
                rank++;
            (void)snprintf(text, sizeof text,
                           "rank %u did not come back after the scheduler had started again", rank);
            gw_sched_gang_give_up(sched, gang, text);
            more = true;
        }
    }
}

/* -- Registrations -------------------------------------------------------------------------------
 */

static void take(struct gw_sched *sched, const struct claim *claim)
{
    const struct gw_adopted adopted = {.worker = claim->worker,
                                       .shape = claim->shape,
                                       .attempt = claim->attempt,
                                       .gpus = claim->gpus,
                                       .gpu_count = claim->gpu_count,
                                       .ended = claim->kind == GW_CLAIM_ENDED};
    GW_FACT(sched, worker_cleared, .worker = claim->worker, .attempt = claim->attempt,
            .rank = claim->rank);
    if (claim->rank != GW_RANK_NONE) {
        adopt_rank(sched, claim, &adopted);
        return;
    }
    GW_FACT(sched, task_adopted, .job = claim->job, .index = claim->row, .adopted = &adopted);
    if (claim->kind == GW_CLAIM_UNFIT)
        end_unfit(sched, claim);
}

void gw_sched_adopt(struct gw_sched *sched, struct gw_worker *worker,
                    const struct gw_msg_registration *registration)
{
    uint32_t gpu = 0;
    if (registration->attempt_job.count != registration->attempt.count ||
        !sched->options.keeps_workers)
        return;
    struct claim claim = {.worker = worker};
    for (uint32_t i = 0; i < registration->attempt.count; i++) {
        claim.gpu_count = gw_col32_at(registration->attempt_gpu_count, i);
        for (uint32_t g = 0; g < claim.gpu_count; g++, gpu++)
            if (g < GPUS_MAX)
                claim.gpus[g] = gw_col32_at(registration->attempt_gpus, gpu);
        if (read_claim(sched, registration, i, &claim))
            take(sched, &claim);
    }
    if (!sched->hold.until_ns && registration->attempt.count)
        gw_sched_adopt_over(sched); /* a gang of which nobody else is awaited any more */
}

bool gw_sched_adopts(const struct gw_sched *sched, const struct gw_worker *worker, uint64_t id,
                     uint32_t index)
{
    struct gw_job *job = gw_sched_job_find(sched, id);
    if (!job || index >= job->tasks.count || !gw_sched_row_live(job, index) ||
        job->tasks.state[index] != GW_TASK_PLACED ||
        is_of_this_life(sched, job->tasks.attempt[index]))
        return false;
    for (uint32_t slot = worker->first; slot != GW_NONE; slot = sched->attempts.items[slot].next)
        if (sched->attempts.items[slot].job == job && sched->attempts.items[slot].index == index)
            return true;
    return false;
}
