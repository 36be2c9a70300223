/* Tasks.
 *
 * What always holds, and gw_sched_check walks: `waiting` of a row is the number of its edges from
 * tasks that have not ended well, whatever state the row is in; `users` is the number of edges with
 * data to tasks that have not ended, and one more for the session that holds its future. So a task
 * can be run again at any time without asking who had already started. */
#include "scheduler/core/task.h"

#include "scheduler/core/actor.h"
#include "scheduler/core/gang_ask.h"
#include "scheduler/core/gate.h"
#include "scheduler/core/handover.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/object.h"
#include "scheduler/core/pure.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/range.h"
#include "scheduler/core/regain.h"
#include "scheduler/core/story.h"

#include "graph/base/lazy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state task_states[] = {
    [GW_TASK_RETIRED] = {"retired", 0},
    [GW_TASK_WAITING] = {"waiting", GW_SM_NEXT(GW_TASK_RELEASED) | GW_SM_NEXT(GW_TASK_READY) |
                                        GW_SM_NEXT(GW_TASK_FAILED) | GW_SM_NEXT(GW_TASK_CANCELLED) |
                                        GW_SM_NEXT(GW_TASK_HANDED)},
    [GW_TASK_READY] = {"ready", GW_SM_NEXT(GW_TASK_RELEASED) | GW_SM_NEXT(GW_TASK_PLACED) |
                                    GW_SM_NEXT(GW_TASK_WAITING) | GW_SM_NEXT(GW_TASK_FAILED) |
                                    GW_SM_NEXT(GW_TASK_CANCELLED)},
    [GW_TASK_PLACED] = {"placed", GW_SM_NEXT(GW_TASK_DONE) | GW_SM_NEXT(GW_TASK_FAILED) |
                                      GW_SM_NEXT(GW_TASK_WAITING) | GW_SM_NEXT(GW_TASK_CANCELLING)},
    [GW_TASK_CANCELLING] = {"cancelling",
                            GW_SM_NEXT(GW_TASK_CANCELLED) | GW_SM_NEXT(GW_TASK_WAITING)},
    [GW_TASK_DONE] = {"done", GW_SM_NEXT(GW_TASK_RELEASED) | GW_SM_NEXT(GW_TASK_WAITING)},
    [GW_TASK_RELEASED] = {"released", GW_SM_NEXT(GW_TASK_WAITING) | GW_SM_NEXT(GW_TASK_RETIRED)},
    [GW_TASK_FAILED] = {"failed", GW_SM_NEXT(GW_TASK_WAITING) | GW_SM_NEXT(GW_TASK_RETIRED)},
    [GW_TASK_CANCELLED] = {"cancelled", GW_SM_NEXT(GW_TASK_WAITING) | GW_SM_NEXT(GW_TASK_RETIRED)},
    [GW_TASK_HANDED] = {"handed over", GW_SM_NEXT(GW_TASK_PLACED) | GW_SM_NEXT(GW_TASK_WAITING) |
                                           GW_SM_NEXT(GW_TASK_CANCELLING)},
};
struct gw_sm gw_sched_task_sm = {"task", task_states, sizeof task_states / sizeof *task_states,
                                 NULL};

/* -- The table -----------------------------------------------------------------------------------
 */

/* The columns, those of large items first, so that each begins aligned. */
#define COLUMNS(X)                                                                                 \
    X(attempt)                                                                                     \
    X(args)                                                                                        \
    X(args_size)                                                                                   \
    X(spec)                                                                                        \
    X(waiting)                                                                                     \
    X(users)                                                                                       \
    X(deps_at)                                                                                     \
    X(succ)                                                                                        \
    X(object)                                                                                      \
    X(worker)                                                                                      \
    X(charges)                                                                                     \
    X(flags)                                                                                       \
    X(state)

enum { LAZY_ROWS = 1 << 16, LAZY_FACTOR = 16 };

static size_t row_bytes(const struct gw_tasks *tasks)
{
#define BYTES(name) +sizeof *tasks->name
    return COLUMNS(BYTES);
#undef BYTES
}

/* Points the columns to where they lie in `block`. */
static void tasks_point(struct gw_tasks *tasks, void *block, uint32_t capacity)
{
    uint8_t *at = block;
#define POINT(name)                                                                                \
    tasks->name = (void *)at;                                                                      \
    at += sizeof *tasks->name * capacity;
    COLUMNS(POINT)
#undef POINT
    tasks->block = block;
    tasks->capacity = capacity;
}

static void block_free(const struct gw_tasks *tasks)
{
    if (tasks->lazy_bytes)
        gw_lazy_free(tasks->block, tasks->lazy_bytes);
    else
        free(tasks->block);
}

/* Points the columns into lazy memory; false where the system has none. */
static bool tasks_point_lazy(struct gw_tasks *tasks, uint32_t rows)
{
    uint32_t capacity = (rows + 4095) / 4096 * 4096; /* so each column begins with a page */
    size_t bytes = row_bytes(tasks) * capacity;
    void *block = gw_lazy_alloc(bytes);
    if (!block)
        return false;
    tasks_point(tasks, block, capacity);
    tasks->lazy_bytes = bytes;
    return true;
}

/* Lays the columns out in a new block for `rows` rows at least, and copies those of the old one. A
 * large one takes room for many times as many rows, which costs nothing until they come: a table
 * that grows by doubling is copied, and its pages are touched first, twice. */
static void tasks_lay_out(struct gw_tasks *tasks, uint32_t rows)
{
    const struct gw_tasks old = *tasks;
    uint32_t ahead = rows > GW_TASKS_MAX / LAZY_FACTOR ? GW_TASKS_MAX : rows * LAZY_FACTOR;
    if (rows < LAZY_ROWS || !tasks_point_lazy(tasks, ahead)) {
        uint32_t capacity = tasks->count ? (rows + 7) / 8 * 8 : rows; /* at first what it needs */
        uint8_t *block = malloc(row_bytes(tasks) * capacity);
        GW_MUST_PTR(block);
        tasks_point(tasks, block, capacity);
        tasks->lazy_bytes = 0;
    }
#define COPY(name) memcpy(tasks->name, old.name, sizeof *old.name *old.count);
    if (old.count) {
        COLUMNS(COPY)
    }
#undef COPY
    block_free(&old);
}

bool gw_sched_tasks_map(struct gw_tasks *tasks, uint32_t rows)
{
    assert(!tasks->block);
    tasks->forgets = tasks_point_lazy(tasks, rows);
    return tasks->forgets;
}

bool gw_sched_tasks_may_map(uint32_t rows)
{
    struct gw_tasks trial = {0};
    bool may = gw_sched_tasks_map(&trial, rows);
    gw_sched_tasks_deinit(&trial);
    return may;
}

void gw_sched_tasks_forget(struct gw_tasks *tasks, uint32_t first, uint32_t rows)
{
    assert(tasks->forgets && first + rows <= tasks->capacity);
#define FORGET(name) gw_lazy_forget(tasks->name + first, sizeof *tasks->name * rows);
    COLUMNS(FORGET)
#undef FORGET
}

void gw_sched_tasks_reserve(struct gw_tasks *tasks, uint32_t extra, uint32_t edges)
{
    if (tasks->count + extra > tasks->capacity) {
        uint32_t capacity = tasks->count + extra;
        if (tasks->count && capacity < tasks->capacity * 2)
            capacity = tasks->capacity * 2;
        tasks_lay_out(tasks, capacity);
    }
    gw_sched_edges_reserve(tasks, edges);
}

void gw_sched_tasks_deinit(struct gw_tasks *tasks)
{
    gw_sched_edges_deinit(tasks);
    block_free(tasks);
    *tasks = (struct gw_tasks){0};
}

enum { EDGES_KEPT_A_TASK = 4, EDGES_KEPT = 1024 };

void gw_sched_tasks_compact(struct gw_tasks *tasks)
{
    /* Those of most jobs stay, to be shown, and take less than what stays of their tasks. */
    tasks->edges_gone = tasks->edges > EDGES_KEPT_A_TASK * (uint64_t)tasks->count + EDGES_KEPT;
    if (tasks->edges_gone)
        gw_sched_edges_deinit(tasks);
    else
        gw_sched_edges_compact(tasks);
    for (uint32_t i = 0; i < tasks->count && !tasks->forgets; i++) {
        if (tasks->edges_gone)
            tasks->deps_at[i] = 0;
        tasks->waiting[i] = 0;
        tasks->succ[i] = GW_NONE;
        tasks->args[i] = NULL;
    }
}

/* -- Use -----------------------------------------------------------------------------------------
 */

void gw_sched_task_use(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_tasks *tasks = &job->tasks;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
        struct gw_row dep;
        __builtin_prefetch(&tasks->users[gw_sched_dep_ahead(tasks, e)]);
        if (gw_sched_dep_rank(tasks, e) == GW_DEP_AFTER || !gw_sched_dep(sched, job, e, &dep))
            continue;
        dep.job->tasks.users[dep.index]++;
        if (dep.job != job)
            dep.job->needed++;
    }
}

/* It is looked at when the facts of this step are applied. */
static void note_idle(struct gw_sched *sched, const struct gw_row *row)
{
    gw_sched_objects_ahead(sched, &row->job->tasks, row->index);
    GW_MUST(gw_array_push(&sched->idle, *row));
}

void gw_sched_task_unuse(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_tasks *tasks = &job->tasks;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
        struct gw_row dep;
        if (!gw_sched_dep(sched, job, e, &dep))
            continue;
        if (gw_sched_dep_rank(tasks, e) != GW_DEP_AFTER) {
            assert(dep.job->tasks.users[dep.index] > 0);
            if (dep.job != job)
                dep.job->needed--;
            bool last = --dep.job->tasks.users[dep.index] == 0 || GW_PLANTED(9);
            if (last && dep.job->tasks.state[dep.index] == GW_TASK_DONE)
                note_idle(sched, &dep);
        }
        uint8_t state = job->tasks.state[row];
        if ((state == GW_TASK_CANCELLED || state == GW_TASK_RELEASED) &&
            !gw_sched_task_final(dep.job, dep.index))
            GW_MUST(gw_array_push(&sched->unwanted, dep));
    }
}

bool gw_sched_task_awaited(const struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_successors from = gw_sched_successors_of(job, row);
    struct gw_row next;
    while (gw_sched_successors_next(sched, &from, &next)) {
        if (!next.job)
            continue;
        if (next.index == GW_INDEX_ALL ? next.job->unfinished > 0
                                       : !gw_sched_task_final(next.job, next.index))
            return true;
    }
    return false;
}

/* -- Moves ---------------------------------------------------------------------------------------
 */

struct gw_queue *gw_sched_task_queue(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    if (!(job->tasks.flags[row] & GW_TASK_ALONE))
        return spec->queue;
    struct gw_shape key = *spec->shape;
    key.alone = true;
    return gw_sched_queue_for(sched, job, gw_sched_shape_for(sched, &key), spec->message.priority);
}

void gw_sched_task_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    assert(job->tasks.waiting[row] == 0);
    if (job->tasks.flags[row] & GW_TASK_ALIAS) { /* nothing is to be run: it is done */
        GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, row}));
        return;
    }
    if (sched->hold.until_ns)
        gw_sched_regain_on_ready(sched, job, row);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_READY);
    GW_STORY_USUAL(sched, job, .kind = GW_STORY_READY, .index = row);
    gw_sched_queue_add(sched, gw_sched_task_queue(sched, job, row), row);
    gw_sched_actor_row_ready(sched, job, row);
}

static void task_unqueue(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    gw_sched_queue_remove(sched, gw_sched_task_queue(sched, job, row), row);
}

void gw_sched_apply_task_readied(struct gw_sched *sched, const struct gw_fact_task_readied *fact)
{
    gw_sched_task_ready(sched, fact->job, fact->index);
}

void gw_sched_apply_task_requeued(struct gw_sched *sched, const struct gw_fact_task_requeued *fact)
{
    struct gw_job *job = fact->job;
    if (job->tasks.state[fact->index] == GW_TASK_CANCELLING)
        gw_sched_actor_row_wanted(sched, job, 1);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[fact->index], GW_TASK_WAITING);
    job->placed--;
    job->tasks.flags[fact->index] &= (uint16_t) ~(GW_TASK_STARTED | GW_TASK_RERUN);
    GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, fact->index}));
}

void gw_sched_apply_task_cancelling(struct gw_sched *sched,
                                    const struct gw_fact_task_cancelling *fact)
{
    gw_sm_move(&gw_sched_task_sm, &fact->job->tasks.state[fact->index], GW_TASK_CANCELLING);
    gw_sched_actor_row_wanted(sched, fact->job, -1);
    gw_sched_actor_task_cancelling(sched, fact->job);
}

void gw_sched_apply_task_charged(struct gw_sched *sched, const struct gw_fact_task_charged *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    if (sched->restoring)
        gw_sched_range_catch_up(sched, job, fact->index);
    uint16_t *flags = &job->tasks.flags[fact->index];
    bool queued = job->tasks.state[fact->index] == GW_TASK_READY;
    if (queued)
        task_unqueue(sched, job, fact->index);
    job->tasks.charges[fact->index] = fact->charges;
    struct gw_spec *spec = &job->specs.items[job->tasks.spec[fact->index]];
    *flags &= (uint16_t)~GW_TASK_ALONE;
    if (fact->charges.losses >= 2 && spec->message.ranks == 0)
        *flags |= GW_TASK_ALONE;
    if (queued)
        gw_sched_queue_add(sched, gw_sched_task_queue(sched, job, fact->index), fact->index);
}

static void successor_satisfied(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    assert(job->tasks.waiting[row] > 0);
    if (--job->tasks.waiting[row] > 0)
        return;
    bool delayed = (job->tasks.flags[row] & GW_TASK_DELAYED) != 0;
    if (job->tasks.state[row] == GW_TASK_WAITING && !delayed)
        gw_sched_task_ready(sched, job, row);
    else if (job->tasks.state[row] == GW_TASK_HANDED)
        gw_sched_handover_complete(sched, job, row);
}

static void successor_doomed(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (job->tasks.state[row] == GW_TASK_WAITING)
        GW_MUST(gw_array_push(&sched->doomed, (struct gw_row){job, row}));
}

static void successor_unsatisfied(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    job->tasks.waiting[row]++;
    if ((job->tasks.flags[row] & GW_TASK_ALIAS) && job->tasks.state[row] == GW_TASK_DONE)
        GW_MUST(gw_array_push(&sched->lost, (struct gw_row){job, row}));
    if (job->tasks.state[row] == GW_TASK_READY) {
        task_unqueue(sched, job, row);
        gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_WAITING);
    }
}

/* Durable facts say how a task ended, not that it was ready and placed before, and a scattered
 * value never was: takes those moves. */
static void task_catch_up(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint32_t state)
{
    uint8_t *at = &job->tasks.state[row];
    if (*at == GW_TASK_READY && state != GW_TASK_CANCELLED)
        task_unqueue(sched, job, row);
    else if (*at == GW_TASK_WAITING && state == GW_TASK_DONE)
        gw_sm_move(&gw_sched_task_sm, at, GW_TASK_READY);
    else
        return;
    gw_sm_move(&gw_sched_task_sm, at, GW_TASK_PLACED);
    job->placed++;
}

static void task_fail(struct gw_sched *sched, struct gw_job *job,
                      const struct gw_fact_task_ended *fact)
{
    struct gw_failure *failure = NULL;
    struct gw_job *cause = fact->cause_job ? gw_sched_job_find(sched, fact->cause_job) : NULL;
    if (cause)
        failure = gw_sched_failure_of(cause, fact->cause_index);
    if (failure) {
        failure->refs++;
        uint16_t flags = GW_TASK_DEPENDENT;
        if (job->tasks.flags[fact->index] & GW_TASK_ALIAS) /* it fails as its original did */
            flags &= cause->tasks.flags[fact->cause_index];
        job->tasks.flags[fact->index] |= flags;
    } else if (job->cancelled_failure && fact->state == GW_TASK_CANCELLED && fact->attempt == 0) {
        /* Of a million tasks that never ran, one text is enough. */
        failure = job->cancelled_failure;
        failure->refs++;
    } else {
        failure = gw_sched_failure_new(fact->code, fact->text);
        failure->exit_code = fact->exit_code;
        failure->attempt = fact->attempt;
        if (fact->state == GW_TASK_CANCELLED && fact->attempt == 0) {
            failure->refs++;
            job->cancelled_failure = failure;
        }
    }
    GW_MUST(gw_map_put(&job->failures, fact->index, (uintptr_t)failure));
    if (!job->first_failure) {
        failure->refs++;
        job->first_failure = failure;
    }
}

void gw_sched_apply_task_ended(struct gw_sched *sched, const struct gw_fact_task_ended *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_tasks *tasks = &job->tasks;
    uint32_t row = fact->index;
    if (sched->restoring || (tasks->flags[row] & GW_TASK_ALIAS)) {
        gw_sched_range_catch_up(sched, job, row);
        task_catch_up(sched, job, row, fact->state);
    }
    if (tasks->state[row] == GW_TASK_PLACED || tasks->state[row] == GW_TASK_CANCELLING)
        job->placed--;
    if (tasks->state[row] == GW_TASK_READY)
        task_unqueue(sched, job, row);
    if (tasks->state[row] != GW_TASK_CANCELLING)
        gw_sched_actor_row_wanted(sched, job, -1);
    gw_sm_move(&gw_sched_task_sm, &tasks->state[row], fact->state);
    gw_sched_actor_task_ended(sched, job);
    if (gw_job_rare(job)->asks.count > 0)
        gw_sched_gang_ask_drop(job, row);
    tasks->flags[row] &= (uint16_t) ~(GW_TASK_STARTED | GW_TASK_DELAYED | GW_TASK_CANCELS);
    job->unfinished--;
    if (fact->state == GW_TASK_DONE) {
        if (sched->restoring) /* by which workers know what they have of it */
            tasks->attempt[row] = fact->attempt;
        job->done++;
        tasks->flags[row] |= GW_TASK_WAS_DONE;
        gw_sched_objects_add(sched, job, row, &fact->results);
        gw_sched_successors(sched, job, row, successor_satisfied);
        if (tasks->users[row] == 0)
            GW_MUST(gw_array_push(&sched->idle, (struct gw_row){job, row}));
    } else {
        *(fact->state == GW_TASK_FAILED ? &job->failed : &job->cancelled_tasks) += 1;
        gw_sched_pure_forget(sched, job, row);
        task_fail(sched, job, fact);
        gw_sched_successors(sched, job, row, successor_doomed);
    }
    gw_sched_story_task_ended(sched, job, fact);
    gw_sched_task_unuse(sched, job, row);
    gw_sched_range_row_ended(sched, job, row);
    if (job->unfinished == 0 && job->state == GW_JOB_RUNNING)
        GW_MUST(gw_array_push(&sched->ending, job));
    if (job->questions)
        GW_MUST(gw_array_push(&sched->revisited, job->id));
}

void gw_sched_apply_value_scattered(struct gw_sched *sched,
                                    const struct gw_fact_value_scattered *fact)
{
    task_catch_up(sched, fact->job, 0, GW_TASK_DONE);
    gw_sched_apply_task_ended(sched, &(struct gw_fact_task_ended){.at = fact->job,
                                                                  .job = fact->job->id,
                                                                  .state = GW_TASK_DONE,
                                                                  .results = {fact->result, 1}});
    gw_sched_scattered_add(sched, fact->job, &sched->objects.items[fact->job->tasks.object[0]]);
}

/* Its inputs that are gone must be made again, too; `users` was raised already. */
static void task_want_inputs(struct gw_sched *sched, struct gw_job *job, uint32_t row, bool retry)
{
    struct gw_tasks *tasks = &job->tasks;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
        struct gw_row dep;
        if (!gw_sched_dep(sched, job, e, &dep) || dep.job->compacted)
            continue;
        uint8_t state = dep.job->tasks.state[dep.index];
        bool data = gw_sched_dep_rank(tasks, e) != GW_DEP_AFTER;
        bool failed =
            state == GW_TASK_FAILED || state == GW_TASK_CANCELLED || state == GW_TASK_CANCELLING;
        if (retry && (failed || data))
            GW_MUST(gw_array_push(&sched->retried, dep));
        else if (data && (state == GW_TASK_RELEASED || state == GW_TASK_DONE))
            GW_MUST(gw_array_push(&sched->lost, dep));
    }
}

/* What failed as its original did runs again as it does. */
static void alias_retried(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if ((job->tasks.flags[row] & GW_TASK_ALIAS) && job->tasks.state[row] == GW_TASK_FAILED)
        GW_MUST(gw_array_push(&sched->retried, (struct gw_row){job, row}));
}

void gw_sched_apply_task_reopened(struct gw_sched *sched, const struct gw_fact_task_reopened *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_tasks *tasks = &job->tasks;
    uint32_t row = fact->index;
    uint8_t state = tasks->state[row];
    GW_STORY(sched, job, .kind = GW_STORY_AGAIN, .index = row, .detail = (uint8_t)fact->retry);
    gw_sched_range_row_reopened(job, row);
    if (state == GW_TASK_DONE || state == GW_TASK_RELEASED) {
        job->done--;
        gw_sched_objects_drop(sched, job, row);
        gw_sched_successors(sched, job, row, successor_unsatisfied);
    } else {
        *(state == GW_TASK_FAILED ? &job->failed : &job->cancelled_tasks) -= 1;
        struct gw_failure *failure = gw_sched_failure_of(job, row);
        (void)gw_map_remove(&job->failures, row);
        bool first = job->first_failure == failure;
        gw_sched_failure_unref(failure);
        if (first) {
            gw_sched_failure_unref(job->first_failure);
            job->first_failure = NULL;
        }
        tasks->flags[row] &= (uint16_t)~GW_TASK_DEPENDENT;
        gw_sched_successors(sched, job, row, alias_retried);
    }
    gw_sm_move(&gw_sched_task_sm, &tasks->state[row], GW_TASK_WAITING);
    gw_sched_actor_row_wanted(sched, job, 1);
    job->unfinished++;
    tasks->flags[row] |= GW_TASK_AGAIN;
    bool told_failed = tasks->flags[row] & GW_TASK_TOLD_FAILED; /* how it ends now is told, too */
    if (fact->retry == 1 || (fact->retry && told_failed && !GW_PLANTED(780)))
        tasks->flags[row] &= (uint16_t) ~(GW_TASK_TOLD | GW_TASK_TOLD_FAILED);
    if (job->state == GW_JOB_ENDED) {
        gw_sched_job_reopen(sched, job);
        if (fact->retry)
            gw_sched_gates_close(sched, job);
    }
    gw_sched_task_use(sched, job, row);
    task_want_inputs(sched, job, row, fact->retry != 0);
    GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, row}));
}

/* A task that was done once, and was to run again, is not needed any more: as it was before. */
void gw_sched_apply_task_unneeded(struct gw_sched *sched, const struct gw_fact_task_unneeded *fact)
{
    struct gw_job *job = fact->job;
    if (job->tasks.state[fact->index] == GW_TASK_READY)
        task_unqueue(sched, job, fact->index);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[fact->index], GW_TASK_RELEASED);
    job->tasks.flags[fact->index] &= (uint16_t)~GW_TASK_DELAYED;
    GW_STORY(sched, job, .kind = GW_STORY_UNNEEDED, .index = fact->index);
    gw_sched_pure_forget(sched, job, fact->index);
    gw_sched_actor_row_wanted(sched, job, -1);
    job->unfinished--;
    job->done++;
    gw_sched_successors(sched, job, fact->index, successor_satisfied);
    gw_sched_task_unuse(sched, job, fact->index);
    gw_sched_range_row_ended(sched, job, fact->index);
    if (job->unfinished == 0 && job->state == GW_JOB_RUNNING)
        GW_MUST(gw_array_push(&sched->ending, job));
    if (job->questions)
        GW_MUST(gw_array_push(&sched->revisited, job->id));
}

void gw_sched_apply_task_unheld(struct gw_sched *sched, const struct gw_fact_task_unheld *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_tasks *tasks = &job->tasks;
    if (sched->restoring)
        gw_sched_range_catch_up(sched, job, fact->index);
    assert(tasks->flags[fact->index] & GW_TASK_HELD);
    tasks->flags[fact->index] &= (uint16_t)~GW_TASK_HELD;
    job->held--;
    tasks->users[fact->index]--;
    struct gw_row row = {job, fact->index};
    bool last = tasks->users[fact->index] == 0 || GW_PLANTED(120);
    if (last && tasks->state[fact->index] == GW_TASK_DONE)
        GW_MUST(gw_array_push(&sched->idle, row));
    if (!gw_sched_task_final(job, fact->index))
        GW_MUST(gw_array_push(&sched->unwanted, row));
    gw_sched_range_row_closed(sched, job, fact->index);
    if (job->calls_of && job->held == 0 && job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, job->id));
}

void gw_sched_apply_task_rerun(struct gw_sched *sched, const struct gw_fact_task_rerun *fact)
{
    uint16_t *flags = &fact->job->tasks.flags[fact->index];
    (void)sched;
    *flags = (uint16_t)(fact->wanted ? *flags | GW_TASK_RERUN : *flags & ~GW_TASK_RERUN);
}

void gw_sched_apply_told(struct gw_sched *sched, const struct gw_fact_told *fact)
{
    uint16_t *flags = &fact->job->tasks.flags[fact->index];
    (void)sched;
    *flags &= (uint16_t) ~(GW_TASK_TOLD | GW_TASK_TOLD_FAILED);
    *flags |= (uint16_t)fact->flags;
}

void gw_sched_apply_object_released(struct gw_sched *sched,
                                    const struct gw_fact_object_released *fact)
{
    gw_sched_objects_drop(sched, fact->job, fact->index);
    gw_sched_pure_forget(sched, fact->job, fact->index);
    gw_sm_move(&gw_sched_task_sm, &fact->job->tasks.state[fact->index], GW_TASK_RELEASED);
    GW_STORY_USUAL(sched, fact->job, .kind = GW_STORY_RELEASED, .index = fact->index);
    gw_sched_range_row_closed(sched, fact->job, fact->index);
    if (fact->job->objects == 0 && fact->job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, fact->job->id));
}

/* -- For people ----------------------------------------------------------------------------------
 */

void gw_sched_task_label(const struct gw_job *job, uint32_t row, char *text, size_t text_bytes)
{
    uint64_t name;
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    if (gw_map_get(&gw_job_rare(job)->names, row, &name))
        (void)snprintf(text, text_bytes, "%s", (const char *)(uintptr_t)name);
    else if (spec->message.kind == GW_SPEC_FUNCTION)
        (void)snprintf(text, text_bytes, "%s", spec->message.function);
    else
        (void)snprintf(text, text_bytes, "%s", job->name);
}

struct gw_failure *gw_sched_failure_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&job->failures, row, &value) ? (struct gw_failure *)(uintptr_t)value : NULL;
}

struct gw_failure *gw_sched_failure_new(int32_t code, const char *text)
{
    struct gw_failure *failure = calloc(1, sizeof *failure);
    GW_MUST_PTR(failure);
    *failure = (struct gw_failure){.refs = 1, .code = code, .text = strdup(text ? text : "")};
    GW_MUST_PTR(failure->text);
    return failure;
}

void gw_sched_failure_unref(struct gw_failure *failure)
{
    if (!failure || --failure->refs > 0)
        return;
    free(failure->text);
    free(failure);
}
