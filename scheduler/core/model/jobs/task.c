/* Tasks.
 *
 * Invariants, which gw_sched_check asserts: `waiting` of a row is the number of its dependencies
 * that have not ended well, whatever the state of the row is. `users` of a row is the number of
 * dependencies on its result by tasks that have not ended, plus one if the session holds its
 * future. So a task can run again at any time, and it does not matter which successors had started
 * already. */
#include "scheduler/core/model/jobs/task.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/object.h"

#include "graph/base/lazy.h"
#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/edge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state task_states[] = {
    [GW_TASK_RETIRED] = {"retired", 0},
    [GW_TASK_WAITING] = {"waiting", GW_SM_NEXT(GW_TASK_RELEASED) | GW_SM_NEXT(GW_TASK_READY) |
                                        GW_SM_NEXT(GW_TASK_FAILED) | GW_SM_NEXT(GW_TASK_CANCELLED) |
                                        GW_SM_NEXT(GW_TASK_PIPELINED)},
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
    [GW_TASK_PIPELINED] = {"pipelined", GW_SM_NEXT(GW_TASK_PLACED) | GW_SM_NEXT(GW_TASK_WAITING) |
                                            GW_SM_NEXT(GW_TASK_CANCELLING)},
};
struct gw_sm gw_sched_task_sm = {"task", task_states, sizeof task_states / sizeof *task_states,
                                 NULL};

/* -- The table -------------------------------------------------------------------------------- */

/* The columns, ordered by the size of their items, largest first, so that each column is aligned.
 */
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

/* Sets the pointers of the columns into `block`. */
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

/* Sets the pointers of the columns into lazily committed memory. Returns false if the system has
 * none. */
static bool tasks_point_lazy(struct gw_tasks *tasks, uint32_t rows)
{
    uint32_t capacity = (rows + 4095) / 4096 * 4096; /* so that each column begins at a page */
    size_t bytes = row_bytes(tasks) * capacity;
    void *block = gw_lazy_alloc(bytes);
    if (!block)
        return false;
    tasks_point(tasks, block, capacity);
    tasks->lazy_bytes = bytes;
    return true;
}

/* Moves the columns to a new block for at least `rows` rows. A large table gets address space for
 * many times as many rows, which costs no memory until they are used. Growing by doubling would
 * copy the table again and again, and touch each new page twice. */
static void tasks_lay_out(struct gw_tasks *tasks, uint32_t rows)
{
    const struct gw_tasks old = *tasks;
    uint32_t ahead = rows > GW_TASKS_MAX / LAZY_FACTOR ? GW_TASKS_MAX : rows * LAZY_FACTOR;
    if (rows < LAZY_ROWS || !tasks_point_lazy(tasks, ahead)) {
        /* A new table gets only what it needs. */
        uint32_t capacity = tasks->count ? (rows + 7) / 8 * 8 : rows;
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

enum { EDGES_RETAINED_A_TASK = 4, EDGES_RETAINED = 1024 };

void gw_sched_tasks_compact(struct gw_tasks *tasks)
{
    /* The dependencies of most jobs are kept for listings. They take less memory than the rest of
     * the rows. */
    tasks->edges_gone =
        tasks->edges > EDGES_RETAINED_A_TASK * (uint64_t)tasks->count + EDGES_RETAINED;
    if (tasks->edges_gone)
        gw_sched_edges_deinit(tasks);
    else
        gw_sched_edges_compact(tasks);
    for (uint32_t i = 0; i < tasks->count && !tasks->forgets; i++) {
        if (tasks->edges_gone)
            tasks->deps_at[i] = 0;
        tasks->waiting[i] = 0;
        tasks->succ[i] = GW_NO_INDEX;
        tasks->args[i] = NULL;
    }
}

/* -- Uses ------------------------------------------------------------------------------------- */

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

/* The task is handled after the facts of this step were applied. */
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
            bool last = --dep.job->tasks.users[dep.index] == 0;
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
    struct gw_successors from = gw_sched_edge_successors_of(job, row);
    struct gw_row next;
    while (gw_sched_edge_successors_next(sched, &from, &next)) {
        if (!next.job)
            continue;
        if (next.index == GW_INDEX_ALL ? next.job->unfinished > 0
                                       : !gw_sched_task_final(next.job, next.index))
            return true;
    }
    return false;
}

/* -- State changes ---------------------------------------------------------------------------- */

void gw_sched_task_requeue(struct gw_sched *sched, struct gw_job *job, uint32_t index)
{
    if (job->tasks.state[index] == GW_TASK_CANCELLING)
        gw_sched_actor_row_wanted(sched, job, 1);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[index], GW_TASK_WAITING);
    job->placed--;
    job->tasks.flags[index] &= (uint16_t) ~(GW_TASK_STARTED | GW_TASK_RERUN);
    GW_MUST(gw_array_push(&sched->reopened, (struct gw_row){job, index}));
}

void gw_sched_task_cancelling(struct gw_sched *sched, struct gw_job *job, uint32_t index)
{
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[index], GW_TASK_CANCELLING);
    gw_sched_actor_row_wanted(sched, job, -1);
    gw_sched_actor_task_cancelling(sched, job);
}

void gw_sched_task_rerun(struct gw_job *job, uint32_t index, bool wanted)
{
    uint16_t *flags = &job->tasks.flags[index];
    *flags = (uint16_t)(wanted ? *flags | GW_TASK_RERUN : *flags & ~GW_TASK_RERUN);
}

void gw_sched_task_told(struct gw_job *job, uint32_t index, uint32_t told)
{
    uint16_t *flags = &job->tasks.flags[index];
    *flags &= (uint16_t) ~(GW_TASK_TOLD | GW_TASK_TOLD_FAILED);
    *flags |= (uint16_t)told;
}

/* -- Labels and failures ---------------------------------------------------------------------- */

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

struct gw_failure *gw_sched_task_failure_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&job->failures, row, &value) ? (struct gw_failure *)(uintptr_t)value : NULL;
}

struct gw_failure *gw_sched_task_failure_new(int32_t code, const char *text)
{
    struct gw_failure *failure = calloc(1, sizeof *failure);
    GW_MUST_PTR(failure);
    *failure = (struct gw_failure){.refs = 1, .code = code, .text = strdup(text ? text : "")};
    GW_MUST_PTR(failure->text);
    return failure;
}

void gw_sched_task_failure_unref(struct gw_failure *failure)
{
    if (!failure || --failure->refs > 0)
        return;
    free(failure->text);
    free(failure);
}

int32_t gw_sched_task_failure_exit_code(const struct gw_failure *failure)
{
    const struct gw_error error = {.code = failure->code};
    return failure->exit_code ? failure->exit_code : gw_error_exit_code(&error);
}
