/* Adoption of attempts from before a restart of the scheduler.
 *
 * Invariants: an attempt is taken over only while its task waits to be placed, so no task has two
 * attempts, and only if its end has not been decided yet (decided.h), so no end counts twice. The
 * id of such an attempt contains an earlier term, so no new attempt can have the same id. An
 * adopted attempt may use more than the worker has free: the worker is then overdrawn, as it may be
 * with tasks that waited for other tasks. An attempt that ended during the restart uses nothing:
 * the report of its end follows right after the registration. A gang can come back only while
 * workers are awaited (hold.h).
 *
 * A worker starts a pipelined task before the end of the task before it is in the journal. The
 * restarted scheduler then believes that the earlier task still runs, and the worker claims both. A
 * claim of a task that waits for other tasks is kept. If its attempt runs or has ended, the claim
 * is kept while reports of ends or workers are awaited. If its attempt is queued in a process, the
 * claim is kept until the task is ready or an earlier task runs again. A kept claim is taken over
 * when its task is ready, before any placement. */
#include "scheduler/core/membership/adopt.h"

#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/lifecycle/gang_start.h"
#include "scheduler/core/lifecycle/worker_report.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>

static bool is_of_this_life(const struct gw_sched *sched, uint64_t attempt)
{
    return attempt >> 48 == (sched->term & 0xffff);
}

/* Returns true if the number of ranks that the worker reports is valid for this kind of task (0 if
 * it is not a gang). */
static bool world_is_well(const struct gw_msg_spec *spec, const struct gw_late_told *claim)
{
    if (spec->ranks == 0)
        return claim->rank == GW_RANK_NONE && claim->world == 0;
    uint32_t least = spec->min_ranks ? spec->min_ranks : spec->ranks;
    return claim->world >= least && claim->world <= spec->ranks && claim->rank < claim->world;
}

static bool gpus_are_well(const struct gw_late_told *claim)
{
    const struct gw_resource_class *shape = claim->shape;
    const struct gw_worker *worker = claim->worker;
    if (claim->kind == GW_CLAIM_ENDED)
        return claim->gpu_count == 0;
    if (shape->gpu_if_any ? claim->gpu_count > 1 : claim->gpu_count != shape->gpus)
        return false;
    for (uint32_t i = 0; i < claim->gpu_count; i++) {
        if (claim->gpus[i] >= worker->gpu_count || (i > 0 && claim->gpus[i] <= claim->gpus[i - 1]))
            return false;
        const struct gw_gpu *gpu = &worker->gpus[claim->gpus[i]];
        if (gpu->slot != GW_NO_INDEX || gpu->twin != GW_NO_INDEX ||
            gpu->shared + shape->gpu_fraction > GW_GPU_WHOLE ||
            (!shape->gpu_fraction && gpu->shared))
            return false;
    }
    return true;
}

/* What happens to a claim, which is an attempt that a registering worker reports: the claim is
 * refused, kept for later, or taken over. */
enum fate { FATE_REFUSED, FATE_WAITS, FATE_TAKEN };

/* Returns true if a new attempt runs for an input of the claimed task. The claimed attempt then
 * works with an outdated input. */
static bool begins_anew(const struct gw_sched *sched, const struct gw_late_told *claim)
{
    const struct gw_tasks *tasks = &claim->job->tasks;
    for (uint32_t e = tasks->deps_at[claim->row]; e < gw_sched_deps_end(tasks, claim->row); e++) {
        struct gw_row dep;
        if (!gw_sched_dep(sched, claim->job, e, &dep) ||
            gw_sched_task_satisfied(dep.job, dep.index))
            continue;
        const uint8_t state = dep.job->tasks.state[dep.index];
        if (state != GW_TASK_WAITING && state != GW_TASK_READY &&
            is_of_this_life(sched, dep.job->tasks.attempt[dep.index]))
            return true;
    }
    return false;
}

/* Decides about a claim whose task waits for inputs: it is kept if these inputs may still be
 * reported as done before the restart. */
static enum fate fate_of_waiting(const struct gw_sched *sched, const struct gw_late_told *claim)
{
    if (begins_anew(sched, claim))
        return FATE_REFUSED;
    return claim->kind == GW_CLAIM_WAITS || sched->hold.until_ns || sched->ends_coming
               ? FATE_WAITS
               : FATE_REFUSED;
}

static enum fate fate_of(const struct gw_sched *sched, const struct gw_late_told *claim)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sched, claim->attempt);
    const uint8_t state = claim->job->tasks.state[claim->row];
    if (gang)
        return claim->rank != GW_RANK_NONE && gang->state == GW_GANG_RECOVERING &&
                       gang->job == claim->job && gang->index == claim->row &&
                       gang->count == claim->world && !gang->ranks[claim->rank].ready
                   ? FATE_TAKEN
                   : FATE_REFUSED;
    if ((state != GW_TASK_READY && state != GW_TASK_WAITING) ||
        gw_sched_attempt_find(sched, claim->attempt) != GW_NO_INDEX ||
        gw_sched_decided(claim->job, claim->attempt))
        return FATE_REFUSED;
    return state == GW_TASK_READY ? FATE_TAKEN : fate_of_waiting(sched, claim);
}

/* Completes and checks a claim that contains what the worker reported, and decides about it. */
static enum fate look_up(const struct gw_sched *sched, uint64_t id, struct gw_late_told *claim)
{
    struct gw_job *job = claim->job = gw_sched_job_find(sched, id);
    if (!claim->attempt || is_of_this_life(sched, claim->attempt) || !job ||
        claim->kind > GW_CLAIM_UNFIT || (claim->kind == GW_CLAIM_WAITS && claim->world) ||
        claim->gpu_count > GW_CLAIM_GPUS_MAX)
        return FATE_REFUSED;
    if (!job->detached || job->state != GW_JOB_RUNNING || job->compacted ||
        claim->row >= job->tasks.count || !gw_sched_row_live(job, claim->row))
        return FATE_REFUSED;
    claim->spec = &job->specs.items[job->tasks.spec[claim->row]];
    const struct gw_msg_spec *spec = &claim->spec->message;
    if (spec->actor || !world_is_well(spec, claim))
        return FATE_REFUSED;
    claim->shape =
        gw_sched_task_ready_queue((struct gw_sched *)(uintptr_t)sched, job, claim->row)->shape;
    if ((claim->shape->need && gw_sched_need_ranks(claim->worker, claim->shape, true) == 0) ||
        !gpus_are_well(claim))
        return FATE_REFUSED;
    return fate_of(sched, claim);
}

/* Reads the claim in row i of a registration and decides about it. */
static enum fate read_claim(const struct gw_sched *sched, const struct gw_msg_registration *message,
                            uint32_t i, struct gw_late_told *claim)
{
    claim->attempt = gw_col64_at(message->attempt, i);
    claim->rank = gw_col32_at(message->attempt_rank, i);
    claim->row = gw_col32_at(message->attempt_index, i);
    claim->kind = gw_col32_at(message->attempt_claim, i);
    claim->world = gw_col32_at(message->attempt_world, i);
    claim->ran_ns = i < message->attempt_ran_ns.count ? gw_col64_at(message->attempt_ran_ns, i) : 0;
    claim->late = false;
    return look_up(sched, gw_col64_at(message->attempt_job, i), claim);
}

/* -- Ordinary tasks ------------------------------------------------------------------------ */

/* Ends an attempt that lost data which it had from the earlier scheduler. It was taken over only to
 * be ended. */
static void end_unfit(struct gw_sched *sched, const struct gw_late_told *claim)
{
    uint32_t slot = gw_sched_attempt_find(sched, claim->attempt);
    gw_sched_outbox_kill(sched, claim->worker,
                         &(struct gw_kill_row){claim->attempt, GW_FAIL_GRACE_NS, GW_KILL_STALE});
    gw_sched_attempt_kill(sched, slot, false);
}

/* -- Gangs --------------------------------------------------------------------------------- */

static void adopt_rank(struct gw_sched *sched, const struct gw_late_told *claim,
                       const struct gw_adopted *adopted)
{
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, claim->attempt);
    if (!gang) {
        if (gw_sched_gang_went(claim->job, claim->row).attempt != claim->attempt) {
            gw_sched_gang_start_goes(
                sched, claim->job, claim->row,
                (struct gw_went){claim->attempt, claim->job->tasks.charges[claim->row].tries + 1u});
            gw_sched_checkpoint_on_unseen(sched, claim->job, claim->row);
        }
        gw_sched_adopted_gang(sched, claim->job, claim->row, claim->attempt, claim->world);
        gang = gw_sched_gang_find(sched, claim->attempt);
    }
    gw_sched_adopted_rank(sched, gang, claim->rank, adopted);
    gw_sched_checkpoint_on_adopted(sched, gang, claim->rank, claim->worker);
    if (claim->kind == GW_CLAIM_UNFIT)
        gw_sched_gang_end_give_up(sched, gang,
                                  "the rank lost data that it had before the scheduler restarted");
    else if (gang->ready == gang->count)
        gw_sched_worker_report_gathered(sched, gang);
}

void gw_sched_adopt_over(struct gw_sched *sched)
{
    bool more = true;
    /* Ending a gang changes the table of gangs, so the search starts again after each. */
    while (more) {
        size_t at = 0;
        uint64_t id, value;
        more = false;
        while (!more && gw_map_next(&sched->gangs, &at, &id, &value)) {
            struct gw_gang_attempt *gang = (struct gw_gang_attempt *)(uintptr_t)value;
            char text[128];
            uint32_t rank = 0;
            if (gang->state != GW_GANG_RECOVERING)
                continue;
            while (rank + 1 < gang->count && gang->ranks[rank].ready)
                rank++;
            (void)snprintf(text, sizeof text,
                           "rank %u did not come back after the scheduler restarted", rank);
            gw_sched_gang_end_give_up(sched, gang, text);
            more = true;
        }
    }
}

static void take(struct gw_sched *sched, const struct gw_late_told *claim)
{
    const struct gw_adopted adopted = {.worker = claim->worker,
                                       .shape = claim->shape,
                                       .attempt = claim->attempt,
                                       .gpus = claim->gpus,
                                       .gpu_count = claim->gpu_count,
                                       .ran_ns = claim->ran_ns,
                                       .ended = claim->kind == GW_CLAIM_ENDED,
                                       .queued = claim->kind == GW_CLAIM_WAITS && !claim->late};
    gw_sched_worker_clear(claim->worker, claim->attempt, claim->rank);
    if (claim->rank != GW_RANK_NONE) {
        adopt_rank(sched, claim, &adopted);
        return;
    }
    gw_sched_adopted_task(sched, claim->job, claim->row, &adopted);
    if (claim->kind == GW_CLAIM_UNFIT)
        end_unfit(sched, claim);
}

/* -- Claims that are kept for later -------------------------------------------------------- */

static void retain(struct gw_sched *sched, struct gw_late_told *claim)
{
    const struct gw_late_claim late = {.attempt = claim->attempt,
                                       .job = claim->job->id,
                                       .index = claim->row,
                                       .rank = claim->rank,
                                       .kind = claim->kind,
                                       .world = claim->world,
                                       .gpu_count = claim->gpu_count,
                                       .gpus = claim->gpus,
                                       .ran_ns = claim->ran_ns,
                                       .at_ns = sched->now_ns};
    if (gw_sched_late_claim_find(claim->worker, claim->attempt, claim->rank))
        return;
    gw_sched_late_claim_add(sched, claim->worker, &late);
    /* An attempt that is queued in a process has no slot of its own, and its claim may be kept for
     * long, so the worker may become ready. Other claims use slots: the worker gets no tasks before
     * they are decided. */
    if (claim->kind == GW_CLAIM_WAITS)
        gw_sched_worker_clear(claim->worker, claim->attempt, claim->rank);
}

/* The attempt finished while its claim was kept: handle the stored report as if it came now. */
static void finish(struct gw_sched *sched, struct gw_worker *worker,
                   const struct gw_late_claim *late)
{
    const struct gw_result result = {
        .bytes = late->bytes, .value = late->value, .size = late->size, .worker = worker};
    gw_sched_worker_report_finish(sched, worker, late->attempt, &result, late->run_ns);
}

/* Refuses a kept claim: kills the attempt, or releases the result that it left at the worker. */
static void refuse(struct gw_sched *sched, struct gw_worker *worker,
                   const struct gw_late_claim *late)
{
    if (!late->finished)
        gw_sched_outbox_kill(sched, worker, &(struct gw_kill_row){late->attempt, 0, GW_KILL_STALE});
    else if (!late->value)
        gw_sched_outbox_release(sched, worker, &(struct gw_release_row){late->job, late->index, 0});
    if (late->finished)
        gw_sched_worker_report_on_stale(sched, worker, late->attempt, late->rank);
}

/* Decides about the claim at index `at` of a worker. Returns false if the claim must be kept. */
static bool decide(struct gw_sched *sched, struct gw_worker *worker, uint32_t at)
{
    const struct gw_late_claim *late = &worker->late.items[at];
    struct gw_late_told claim = {.worker = worker,
                                 .attempt = late->attempt,
                                 .row = late->index,
                                 .rank = late->rank,
                                 .kind = late->kind,
                                 .world = late->world,
                                 .gpu_count = late->gpu_count,
                                 .ran_ns = late->ran_ns,
                                 .late = true};
    if (late->kind == GW_CLAIM_RUNS && !late->finished && late->ran_ns)
        claim.ran_ns += sched->now_ns - late->at_ns;
    for (uint32_t i = 0; i < late->gpu_count; i++)
        claim.gpus[i] = late->gpus[i];
    const enum fate fate = look_up(sched, late->job, &claim);
    if (fate == FATE_WAITS)
        return false;
    struct gw_late_claim moved;
    gw_sched_late_claim_leave(sched, worker, at, &moved);
    if (fate == FATE_TAKEN) {
        take(sched, &claim);
        if (moved.finished)
            finish(sched, worker, &moved);
        if (worker->state == GW_WORKER_REJOINING)
            gw_sched_worker_report_ready(sched, worker);
    } else {
        refuse(sched, worker, &moved);
    }
    gw_sched_late_claim_free(&moved);
    return true;
}

bool gw_sched_adopt_settle(struct gw_sched *sched)
{
    bool any = false;
    for (size_t i = 0; i < sched->workers.count && sched->late_claims; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        for (uint32_t at = 0; worker && at < worker->late.count;)
            if (decide(sched, worker, at))
                any = true;
            else
                at++;
    }
    /* If no worker is awaited any more, end the gangs of which some ranks have not come back. */
    if (any && !sched->hold.until_ns)
        gw_sched_adopt_over(sched);
    return any;
}

/* -- Registrations ------------------------------------------------------------------------- */

void gw_sched_adopt(struct gw_sched *sched, struct gw_worker *worker,
                    const struct gw_msg_registration *registration)
{
    uint32_t gpu = 0;
    if (registration->attempt_job.count != registration->attempt.count ||
        !sched->options.keeps_workers || !gw_sched_history_is_of(sched, registration))
        return;
    struct gw_late_told claim = {.worker = worker};
    for (uint32_t i = 0; i < registration->attempt.count; i++) {
        claim.gpu_count = gw_col32_at(registration->attempt_gpu_count, i);
        for (uint32_t g = 0; g < claim.gpu_count; g++, gpu++)
            if (g < GW_CLAIM_GPUS_MAX)
                claim.gpus[g] = gw_col32_at(registration->attempt_gpus, gpu);
        enum fate fate = read_claim(sched, registration, i, &claim);
        if (fate == FATE_TAKEN)
            take(sched, &claim);
        else if (fate == FATE_WAITS && worker->late.count < LATE_MAX)
            retain(sched, &claim);
    }
    /* If no worker is awaited any more, end the gangs of which some ranks have not come back. */
    if (!sched->hold.until_ns && registration->attempt.count)
        gw_sched_adopt_over(sched);
}

bool gw_sched_adopts(const struct gw_sched *sched, const struct gw_worker *worker, uint64_t id,
                     uint32_t index)
{
    struct gw_job *job = gw_sched_job_find(sched, id);
    for (size_t i = 0; i < worker->late.count; i++)
        if (worker->late.items[i].job == id && worker->late.items[i].index == index)
            return true;
    if (!job || index >= job->tasks.count || !gw_sched_row_live(job, index) ||
        job->tasks.state[index] != GW_TASK_PLACED ||
        is_of_this_life(sched, job->tasks.attempt[index]))
        return false;
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next)
        if (sched->attempts.items[slot].job == job && sched->attempts.items[slot].index == index)
            return true;
    return false;
}

/* -- Results ------------------------------------------------------------------------------- */

/* Invariants: an object is absent only if an attempt from before the restart made it and no
 * connected worker has it. This state has a meaning only while workers are awaited. A task with an
 * absent input is not placed: its job waits with the held jobs. An object is taken over only if it
 * comes from the attempt with which its task ended, because another attempt may have made a
 * different value under the same name. */

/* -- Results that workers report ----------------------------------------------------------- */

/* Returns the object that row i of a registration names, or GW_NO_INDEX if the object is unknown or
 * not needed. */
static uint32_t find(const struct gw_sched *sched, const struct gw_msg_registration *message,
                     uint32_t i)
{
    struct gw_job *job = gw_sched_job_find(sched, gw_col64_at(message->object_job, i));
    uint32_t row = gw_col32_at(message->object_index, i);
    uint64_t attempt = gw_col64_at(message->object_attempt, i);
    if (!gw_sched_history_is_of(sched, message) || !job || !attempt || row >= job->tasks.count ||
        !gw_sched_row_live(job, row) || job->tasks.state[row] != GW_TASK_DONE ||
        job->tasks.attempt[row] != attempt || (job->tasks.flags[row] & GW_TASK_ALIAS))
        return GW_NO_INDEX;
    uint32_t at = gw_sched_object_of(sched, job, row, gw_col32_at(message->object_rank, i));
    if (at == GW_NO_INDEX || gw_sched_object_here(&sched->objects.items[at]) ||
        sched->objects.items[at].bytes != gw_col64_at(message->object_bytes, i))
        return GW_NO_INDEX;
    return at;
}

void gw_sched_adopt_objects(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_registration *registration)
{
    for (uint32_t i = 0; i < registration->object_job.count; i++) {
        uint64_t job = gw_col64_at(registration->object_job, i);
        uint32_t row = gw_col32_at(registration->object_index, i);
        uint32_t at = find(sched, registration, i);
        if (at == GW_NO_INDEX && !gw_sched_adopts(sched, worker, job, row)) {
            gw_sched_outbox_release(
                sched, worker,
                &(struct gw_release_row){job, row, gw_col32_at(registration->object_rank, i)});
        } else if (at != GW_NO_INDEX) {
            uint32_t holder = gw_sched_object_holder_of(sched, at, worker->slot);
            /* Ignore an object that the worker names twice. */
            if (holder == GW_NO_INDEX || !sched->holders.items[holder].firm)
                gw_sched_object_recover(sched, at, worker);
        }
    }
}

/* -- Absent results ------------------------------------------------------------------------ */

static bool is_missing(const struct gw_sched *sched, uint32_t at)
{
    return !gw_sched_object_here(&sched->objects.items[at]) &&
           gw_sched_object_holder_any(sched, at, GW_NO_INDEX) == GW_NO_INDEX;
}

bool gw_sched_adopt_awaits(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    bool any = false;
    if (!sched->hold.until_ns || !gw_sched_row_live(job, row))
        return false;
    for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NO_INDEX;
         at = sched->objects.items[at].next) {
        if (!is_missing(sched, at))
            continue;
        /* One lost result makes the task run again, and that makes all of its results. */
        if (!sched->objects.items[at].absent)
            return false;
        any = true;
    }
    return any;
}
