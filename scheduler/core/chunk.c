/* Specs and chunks.
 *
 * A check sees everything that an apply relies on: what was checked applies without a further look.
 * Successors of a chunk's own rows go into compressed rows; those of earlier chunks or other jobs
 * to the append list of the task that they wait for. */
#include "scheduler/core/chunk.h"

#include "graph/base/text.h"
#include "graph/model/options.h"
#include "scheduler/core/actor.h"
#include "scheduler/core/annotation.h"
#include "scheduler/core/away.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/gpu_twin.h"
#include "scheduler/core/hold.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/need.h"
#include "scheduler/core/object.h"
#include "scheduler/core/placement.h"
#include "scheduler/core/places.h"
#include "scheduler/core/pure.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/task.h"
#include "scheduler/core/worker.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Specs ---------------------------------------------------------------------------------------
 */

/* Wall limits that are about the same, in steps of a quarter of a power of two: what ends soon
 * enough to run on reserved slots must not wait behind what does not. */
static uint32_t wall_class(const struct gw_msg_spec *spec)
{
    if (!spec->wall_ns)
        return 0;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(spec->wall_ns | 4);
    return 4 * octave + (uint32_t)(spec->wall_ns >> (octave - 2) & 3);
}

/* What one task of a spec needs; shape->need is the caller's to unref. GW_EINVAL with a text. */
static int shape_of_spec(const struct gw_msg_spec *spec, struct gw_shape *shape,
                         struct gw_error *error)
{
    struct gw_need *need;
    int rc = gw_sched_need_new(spec, &need, error);
    if (rc < 0)
        return rc;
    *shape = (struct gw_shape){
        .need = need,
        .ranks = spec->ranks,
        .slots = spec->slots ? spec->slots : 1,
        .gpus = spec->gpu_mode == GW_GPU_MODE_IF_ANY ? 0 : spec->gpus,
        .gpu_share = spec->gpu_share,
        .gpu_if_any = spec->gpu_mode == GW_GPU_MODE_IF_ANY,
        .memory_bytes = spec->memory_bytes,
        .wall_class = wall_class(spec),
        .per_node = spec->ranks ? spec->ranks_per_node : 0,
        .spread = spec->ranks && spec->spread,
        .files = spec->files.size > 0,
        .min_ranks = spec->min_ranks < spec->ranks ? spec->min_ranks : 0,
        .full_wait_ns = spec->min_ranks < spec->ranks && spec->min_ranks ? spec->full_wait_ns : 0,
    };
    if (spec->actor && spec->actor != GW_ACTOR_NEW) { /* it runs in room that its actor has */
        gw_sched_need_unref(shape->need);
        *shape = (struct gw_shape){0};
    }
    return 0;
}

static void describe_need(const struct gw_shape *shape, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%u slot%s", shape->slots, shape->slots == 1 ? "" : "s");
    gw_sched_gpu_describe(shape, text, bytes);
    size_t used = strlen(text);
    char size[GW_TEXT_BYTES_ROOM];
    if (shape->memory_bytes)
        (void)snprintf(text + used, bytes - used, ", %s of memory",
                       gw_text_bytes(shape->memory_bytes, size));
    gw_sched_need_describe(shape->need, text, bytes);
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void describe_largest(const struct gw_sched *sched, char *text, size_t bytes)
{
    const struct gw_worker *largest = NULL;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY &&
            (!largest || worker->slots > largest->slots))
            largest = worker;
    }
    uint32_t drained = gw_sched_worker_gpus_drained(largest);
    uint32_t gpus = gw_sched_gpus_own(largest) - drained;
    char aside[32] = "", size[GW_TEXT_BYTES_ROOM];
    if (drained)
        (void)snprintf(aside, sizeof aside, " (%u more drained)", drained);
    (void)snprintf(text, bytes, "%u slot%s, %u GPU%s%s, %s of memory", largest->slots,
                   plural(largest->slots), gpus, plural(gpus), aside,
                   gw_text_bytes(largest->memory_bytes, size));
}

int gw_sched_infeasible(const struct gw_sched *sched, const struct gw_shape *shape,
                        struct gw_error *error)
{
    if (sched->workers_ready == 0)
        return 0;
    int rc = shape->need ? gw_sched_need_missing(sched, shape, error) : 0;
    char need[320], largest[160], aside[48] = "";
    if (rc < 0 || (shape->need && !shape->need->prefer &&
                   gw_sched_need_gone(sched, shape->need, need, sizeof need)))
        return rc; /* what is gone may come back */
    if (gw_sched_elastic_could(sched, shape) || gw_sched_away_could(sched, shape))
        return 0;
    struct gw_shape least = gw_sched_elastic_shape(shape, gw_sched_elastic_least(shape));
    shape = &least; /* what is said is of the smallest that it may start as */
    uint64_t ranks = gw_sched_ranks_ever(sched, shape);
    rc = gw_sched_gpu_missing(sched, shape, error);
    if (rc < 0)
        return rc;
    describe_need(shape, need, sizeof need);
    describe_largest(sched, largest, sizeof largest);
    uint32_t drained = gw_sched_gpus_drained(sched), gpus = sched->gpus - drained;
    if (drained)
        (void)snprintf(aside, sizeof aside, " (%u more %s drained)", drained,
                       drained == 1 ? "is" : "are");
    if (gw_sched_places_of(shape) && (rc = gw_sched_places_missing(sched, shape, need, error)) < 0)
        return rc;
    if (shape->per_node == shape->ranks && shape->ranks > 0)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "a gang of %u (each rank %s) fits no worker of this cluster as a "
                            "whole: the largest has %s; without --same-host it may use several",
                            shape->ranks, need, largest);
    if (shape->per_node)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "a gang of %u nodes with %u ranks each (each rank %s) does not fit "
                            "this cluster: %llu of its %u workers have room for that many; the "
                            "largest has %s",
                            shape->ranks / shape->per_node, shape->per_node, need,
                            (unsigned long long)ranks / shape->per_node, sched->workers_ready,
                            largest);
    if (shape->ranks > 0)
        return gw_error_set(
            error, GW_EINFEASIBLE,
            "a gang of %u (each rank %s) does not fit this cluster: it has %u "
            "slot%s and %u GPU%s%s in all, room for %llu rank%s; its largest worker "
            "has %s",
            shape->ranks, need, sched->slots, plural(sched->slots), gpus, plural(gpus), aside,
            (unsigned long long)ranks, ranks == 1 ? "" : "s", largest);
    return gw_error_set(error, GW_EINFEASIBLE,
                        "a task that needs %s fits no worker of this cluster: the largest has %s",
                        need, largest);
}

int gw_sched_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                        const struct gw_msg_spec *spec, struct gw_error *error)
{
    if (spec->kind != GW_SPEC_FUNCTION && spec->kind != GW_SPEC_COMMAND)
        return gw_error_set(error, GW_EINVAL, "a spec of unknown kind %u", spec->kind);
    if (spec->gpu_mode > GW_GPU_MODE_IF_ANY)
        return gw_error_set(error, GW_EINVAL, "a spec with unknown GPU mode %u", spec->gpu_mode);
    if (spec->gpu_share >= GW_GPU_WHOLE ||
        (spec->gpu_share && (spec->gpus != 1 || spec->gpu_mode != GW_GPU_MODE_EXACT)))
        return gw_error_set(error, GW_EINVAL, "a spec with %u thousandths of %u GPUs",
                            spec->gpu_share, spec->gpus);
    if (spec->retries > GW_RETRIES_MAX)
        return gw_error_set(error, GW_EINVAL, "a spec with %u retries: %d are the most",
                            spec->retries, GW_RETRIES_MAX);
    if (spec->signal > GW_SIGNAL_MAX || (spec->signal && spec->kind != GW_SPEC_COMMAND))
        return gw_error_set(error, GW_EINVAL,
                            "a spec with signal %u: a command may have one up to %d", spec->signal,
                            GW_SIGNAL_MAX);
    if (spec->ranks > GW_RANKS_MAX)
        return gw_error_set(error, GW_EINFEASIBLE, "a gang of %u ranks: %d are the most",
                            spec->ranks, GW_RANKS_MAX);
    if (spec->kind == GW_SPEC_FUNCTION && spec->ranks > GW_FUNCTION_RANKS_MAX)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "a gang of %u ranks: of a function %d are the most, of a command %d",
                            spec->ranks, GW_FUNCTION_RANKS_MAX, GW_RANKS_MAX);
    if (spec->ranks_per_node && (spec->spread || spec->ranks % spec->ranks_per_node))
        return gw_error_set(error, GW_EINVAL,
                            "a gang of %u ranks, %u at each node%s: whole nodes, and not spread",
                            spec->ranks, spec->ranks_per_node, spec->spread ? ", spread" : "");
    int rc = gw_sched_elastic_check(spec, error);
    if (rc == 0)
        rc = gw_sched_annotation_check(spec, error);
    if (rc == 0)
        rc = gw_sched_actor_spec_check(sched, job, spec, error);
    if (rc < 0)
        return rc;
    struct gw_shape shape;
    rc = shape_of_spec(spec, &shape, error);
    if (rc < 0)
        return rc;
    if (shape.slots) {
        gw_sched_shape_update(sched, &shape);
        rc = gw_sched_infeasible(sched, &shape, error);
    }
    gw_sched_need_unref(shape.need);
    return rc;
}

/* What a copy takes of an arena: whole units of its alignment; nothing takes nothing. */
static size_t room(size_t bytes)
{
    return (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static size_t text_room(const char *text)
{
    return text && *text ? room(strlen(text) + 1) : 0;
}

/* A job mostly has one spec and no names: its arena is just as large as that needs. */
static void reserve_texts(struct gw_job *job, const struct gw_msg_spec *spec)
{
    size_t bytes = room(spec->program.size) + text_room(spec->function) + room(spec->argv.size) +
                   room(spec->env.size) + room(spec->epilog.size) + text_room(spec->cwd) +
                   text_room(spec->resources) + text_room(spec->workers) +
                   text_room(spec->annotations) + room(spec->files.size) +
                   text_room(spec->actor_name);
    GW_MUST(gw_arena_reserve(&job->arena, bytes));
}

static struct gw_bin copy_bin(struct gw_job *job, struct gw_bin bin)
{
    if (!bin.size)
        return (struct gw_bin){"", 0};
    void *copy = gw_arena_copy(&job->arena, bin.data, bin.size);
    GW_MUST_PTR(copy);
    return (struct gw_bin){copy, bin.size};
}

static const char *copy_text(struct gw_job *job, const char *text)
{
    if (!text || !*text)
        return "";
    char *copy = gw_arena_strdup(&job->arena, text);
    GW_MUST_PTR(copy);
    return copy;
}

void gw_sched_apply_spec_added(struct gw_sched *sched, const struct gw_fact_spec_added *fact)
{
    struct gw_job *job = fact->job;
    if (fact->spec->kind == GW_SPEC_VALUE) {
        gw_sched_scattered_spec(job);
        return;
    }
    struct gw_spec spec = {.message = *fact->spec};
    spec.message.key = job->id;
    reserve_texts(job, fact->spec);
    spec.message.program = copy_bin(job, spec.message.program);
    spec.message.function = copy_text(job, spec.message.function);
    spec.message.argv = copy_bin(job, spec.message.argv);
    spec.message.env = copy_bin(job, spec.message.env);
    spec.message.epilog = copy_bin(job, spec.message.epilog);
    spec.message.cwd = copy_text(job, spec.message.cwd);
    spec.message.resources = copy_text(job, spec.message.resources);
    spec.message.workers = copy_text(job, spec.message.workers);
    spec.message.annotations = copy_text(job, spec.message.annotations);
    spec.message.files = copy_bin(job, spec.message.files);
    spec.message.actor_name = copy_text(job, spec.message.actor_name);
    struct gw_shape shape;
    GW_MUST(shape_of_spec(fact->spec, &shape, NULL));
    spec.shape = gw_sched_shape_for(sched, &shape);
    gw_sched_need_unref(shape.need);
    spec.queue = gw_sched_queue_for(sched, job, spec.shape, spec.message.priority);
    GW_MUST(gw_array_push(&job->specs, spec));
    gw_sched_hold_on_spec(sched, job, spec.shape);
    gw_sched_actor_spec_added(sched, job);
}

/* -- Checking a chunk ----------------------------------------------------------------------------
 */

static uint64_t sum32(struct gw_col32 column)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < column.count; i++)
        sum += gw_col32_at(column, i);
    return sum;
}

static int check_columns(const struct gw_msg_submit *chunk, struct gw_error *error)
{
    uint32_t rows = chunk->spec.count;
    if (chunk->args_size.count != rows || chunk->dep_count.count != rows ||
        chunk->dep_index.count != chunk->dep_job.count ||
        chunk->dep_rank.count != chunk->dep_job.count ||
        chunk->name_size.count != chunk->named.count ||
        sum32(chunk->args_size) != chunk->args.size ||
        sum32(chunk->dep_count) != chunk->dep_job.count ||
        sum32(chunk->name_size) != chunk->names.size)
        return gw_error_set(error, GW_EPROTO, "submit: columns that do not match");
    return gw_name_check(chunk->name, "job", error);
}

/* Whether no task of the job has ranks: then what an edge comes from has not to be looked up. */
static bool without_gangs(const struct gw_job *job)
{
    for (size_t i = 0; i < job->specs.count; i++)
        if (job->specs.items[i].message.ranks)
            return false;
    return true;
}

static uint32_t spec_of_row(const struct gw_chunk_check *check, uint32_t row)
{
    uint32_t known = check->job->tasks.count;
    return row < known ? check->job->tasks.spec[row] : check->specs.items[row - known];
}

/* An edge from a task of an earlier job; gives the ranks that it has. */
static int check_other_job(const struct gw_sched *sched, const struct gw_chunk_check *check,
                           const struct gw_msg_submit *chunk, uint32_t edge, uint32_t *ranks,
                           struct gw_error *error)
{
    uint64_t id = gw_col64_at(chunk->dep_job, edge);
    uint32_t index = gw_col32_at(chunk->dep_index, edge);
    const struct gw_job *other = gw_sched_job_find(sched, id);
    if (!other || other == check->job || index >= other->tasks.count)
        return gw_error_set(error, GW_ENOENT, "there is no task %u of job %llu", index,
                            (unsigned long long)id);
    if (other->range)
        return gw_error_set(error, GW_ENOTSUP,
                            "job %llu is a range: no task can take its results, only its client",
                            (unsigned long long)id);
    if (other->uid != check->job->uid)
        return gw_error_set(error, GW_EPERM, "job %llu belongs to another user",
                            (unsigned long long)id);
    if (other->actor)
        return gw_error_set(error, GW_EINVAL, "job %llu is an actor: nothing can wait for its task",
                            (unsigned long long)id);
    if (check->job->detached && !other->detached)
        return gw_error_set(error, GW_EINVAL,
                            "a detached job cannot take results of job %llu, which ends with its "
                            "client",
                            (unsigned long long)id);
    if (gw_col32_at(chunk->dep_rank, edge) != GW_DEP_AFTER &&
        other->tasks.state[index] == GW_TASK_RELEASED)
        return gw_error_set(error, GW_ENOENT, "the result of task %u of job %llu was released",
                            index, (unsigned long long)id);
    *ranks = other->specs.items[other->tasks.spec[index]].message.ranks;
    return 0;
}

/* An edge to `row`; adds to *bytes what it takes in an assign. */
static int check_edge(const struct gw_sched *sched, const struct gw_chunk_check *check,
                      const struct gw_msg_submit *chunk, uint32_t edge, uint32_t row,
                      uint64_t *bytes, struct gw_error *error)
{
    uint32_t ranks = 0, rank = gw_col32_at(chunk->dep_rank, edge);
    if (gw_col64_at(chunk->dep_job, edge) != 0) {
        int rc = check_other_job(sched, check, chunk, edge, &ranks, error);
        if (rc < 0)
            return rc;
    } else {
        uint32_t index = gw_col32_at(chunk->dep_index, edge);
        if (index >= row)
            return gw_error_set(error, GW_EINVAL,
                                "task %u depends on task %u, which is not before it", row, index);
        if (!check->plain)
            ranks = check->job->specs.items[spec_of_row(check, index)].message.ranks;
    }
    if (rank != GW_DEP_ALL && rank != GW_DEP_AFTER && rank >= (ranks ? ranks : 1))
        return gw_error_set(error, GW_EINVAL,
                            "task %u takes the value of rank %u of a task of %u ranks", row, rank,
                            ranks ? ranks : 1);
    *bytes += GW_DEP_BYTES + (rank == GW_DEP_ALL ? (uint64_t)ranks * GW_DEP_BYTES : 0);
    return 0;
}

static int check_rows(const struct gw_sched *sched, struct gw_chunk_check *check,
                      const struct gw_msg_submit *chunk, struct gw_error *error)
{
    uint32_t base = check->job->tasks.count + (uint32_t)check->specs.count;
    uint32_t edge = 0;
    check->plain = without_gangs(check->job);
    GW_MUST(gw_array_reserve(&check->specs, chunk->spec.count));
    for (uint32_t i = 0; i < chunk->spec.count; i++) {
        uint32_t spec = gw_col32_at(chunk->spec, i), deps = gw_col32_at(chunk->dep_count, i);
        if (spec >= check->job->specs.count)
            return gw_error_set(error, GW_EINVAL, "task %u has an unknown spec %u", base + i, spec);
        if (deps > GW_TASK_DEPS_MAX)
            return gw_error_set(error, GW_ELIMIT, "task %u takes %u others: %d are the most",
                                base + i, deps, GW_TASK_DEPS_MAX);
        uint64_t bytes = gw_col32_at(chunk->args_size, i);
        for (uint32_t end = edge + deps; edge < end; edge++) {
            int rc = check_edge(sched, check, chunk, edge, base + i, &bytes, error);
            if (rc < 0)
                return rc;
        }
        if (bytes > GW_ROW_BYTES_MAX)
            return gw_error_set(error, GW_ELIMIT,
                                "the arguments of task %u are larger than %d KiB: scatter them",
                                base + i, GW_ROW_BYTES_MAX >> 10);
        check->specs.items[check->specs.count++] = spec;
    }
    return 0;
}

/* Pure rows of a chunk: each may get an edge that it was not submitted with. */
static uint32_t pure_rows(const struct gw_job *job, const struct gw_msg_submit *chunk)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < job->specs.count; i++)
        rows += job->specs.items[i].message.pure;
    return rows ? chunk->spec.count : 0;
}

int gw_sched_chunk_check(const struct gw_sched *sched, struct gw_chunk_check *check,
                         const struct gw_msg_submit *chunk, struct gw_error *error)
{
    int rc = check_columns(chunk, error);
    if (rc < 0)
        return rc;
    uint64_t rows = (uint64_t)check->job->tasks.count + check->specs.count + chunk->spec.count;
    if (rows > GW_TASKS_MAX)
        return gw_error_set(error, GW_ELIMIT, "a job of more than %d tasks", GW_TASKS_MAX);
    uint64_t edges = check->job->tasks.edges + check->edges + chunk->dep_job.count +
                     pure_rows(check->job, chunk);
    if (edges > GW_EDGES_MAX)
        return gw_error_set(error, GW_ELIMIT, "a job of more than %u dependencies", GW_EDGES_MAX);
    if (rows > 1 && check->job->actor)
        return gw_error_set(error, GW_EINVAL, "an actor is made by one task, alone in its job");
    rc = check_rows(sched, check, chunk, error);
    if (rc < 0)
        return rc;
    check->edges += chunk->dep_job.count + pure_rows(check->job, chunk);
    for (uint32_t i = 0; i < chunk->targets.count; i++)
        if (gw_col32_at(chunk->targets, i) >= rows ||
            gw_col32_at(chunk->targets, i) < rows - chunk->spec.count)
            return gw_error_set(error, GW_EINVAL, "a target that is not a task of its chunk: %u",
                                gw_col32_at(chunk->targets, i));
    const char *name = chunk->names.data;
    for (uint32_t i = 0; i < chunk->named.count; i++) {
        uint32_t row = gw_col32_at(chunk->named, i), size = gw_col32_at(chunk->name_size, i);
        if (row >= rows)
            return gw_error_set(error, GW_EINVAL, "a name for what is not a task: %u", row);
        if (!gw_text_is_line(name, size))
            return gw_error_set(error, GW_EINVAL,
                                "the name of task %u is not one line of text, in UTF-8", row);
        name += size;
    }
    return 0;
}

/* -- Adding a chunk ------------------------------------------------------------------------------
 */

static void add_edge(struct gw_sched *sched, struct gw_job *job, const struct gw_edge *edge,
                     uint32_t row)
{
    struct gw_row dep = gw_sched_edge_add(sched, job, row, edge);
    uint8_t state = dep.job->tasks.state[dep.index];
    if (!gw_sched_task_satisfied(dep.job, dep.index))
        job->tasks.waiting[row]++;
    if (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED)
        GW_MUST(gw_array_push(&sched->doomed, (struct gw_row){job, row}));
}

/* The row that is being added, where it shares the result of a pure task: one edge, to that. */
static bool add_alias(struct gw_sched *sched, struct gw_job *job, const struct gw_chunk_row_at *row)
{
    struct gw_row original;
    uint32_t self = job->tasks.count;
    if (!gw_sched_pure_add(sched, job, row, &original))
        return false;
    uint32_t ranks = job->specs.items[job->tasks.spec[self]].message.ranks;
    const struct gw_edge edge = {original.job == job ? 0 : original.job->id, original.index,
                                 ranks ? GW_DEP_ALL : 0};
    add_edge(sched, job, &edge, self);
    job->tasks.flags[self] |= GW_TASK_ALIAS;
    return true;
}

/* Asks for the state of the row that an edge of a chunk comes from. */
static void prefetch_dep(const struct gw_tasks *tasks, const struct gw_msg_submit *chunk,
                         uint32_t edge)
{
    uint32_t row = edge < chunk->dep_index.count ? gw_col32_at(chunk->dep_index, edge) : 0;
    if (row < tasks->count)
        __builtin_prefetch(&tasks->state[row]);
}

static void add_rows(struct gw_sched *sched, struct gw_job *job, const struct gw_msg_submit *chunk,
                     const uint8_t *args)
{
    struct gw_tasks *tasks = &job->tasks;
    uint32_t edge = 0;
    for (uint32_t i = 0; i < chunk->spec.count; i++) {
        uint32_t row = tasks->count;
        tasks->spec[row] = gw_col32_at(chunk->spec, i);
        tasks->args[row] = args;
        tasks->args_size[row] = gw_col32_at(chunk->args_size, i);
        args += tasks->args_size[row];
        tasks->state[row] = GW_TASK_WAITING;
        tasks->flags[row] = 0;
        tasks->attempt[row] = 0;
        tasks->charges[row] = (struct gw_charges){0};
        tasks->waiting[row] = job->gated;
        tasks->users[row] = tasks->worker[row] = 0;
        tasks->succ[row] = tasks->object[row] = GW_NONE;
        tasks->deps_at[row] = tasks->edges;
        uint32_t deps = gw_col32_at(chunk->dep_count, i);
        if (add_alias(sched, job, &(struct gw_chunk_row_at){chunk, i, edge}))
            edge += deps;
        else
            for (uint32_t end = edge + deps; edge < end; edge++) {
                prefetch_dep(tasks, chunk, edge + GW_EDGES_AHEAD);
                const struct gw_edge from = {gw_col64_at(chunk->dep_job, edge),
                                             gw_col32_at(chunk->dep_index, edge),
                                             gw_col32_at(chunk->dep_rank, edge)};
                add_edge(sched, job, &from, row);
            }
        tasks->count++;
    }
}

static void add_names(struct gw_job *job, const struct gw_msg_submit *chunk)
{
    const char *text = chunk->names.data;
    for (uint32_t i = 0; i < chunk->named.count; i++) {
        uint32_t size = gw_col32_at(chunk->name_size, i);
        char *name = gw_arena_alloc(&job->arena, size + 1);
        GW_MUST_PTR(name);
        memcpy(name, text, size);
        text += size;
        GW_MUST(gw_map_put(&gw_job_rare_make(job)->names, gw_col32_at(chunk->named, i),
                           (uintptr_t)name));
    }
}

void gw_sched_apply_chunk_added(struct gw_sched *sched, const struct gw_fact_chunk_added *fact)
{
    struct gw_job *job = fact->job;
    const struct gw_msg_submit *chunk = fact->chunk;
    struct gw_tasks *tasks = &job->tasks;
    uint32_t base = tasks->count, rows = chunk->spec.count;
    gw_sched_job_name(job, chunk->name);
    uint8_t *args = NULL;
    if (chunk->args.size) {
        args = malloc(chunk->args.size);
        GW_MUST_PTR(args);
        memcpy(args, chunk->args.data, chunk->args.size);
        GW_MUST(gw_array_push(&job->blobs, (void *)args));
    }
    gw_sched_tasks_reserve(tasks, rows, chunk->dep_job.count + pure_rows(job, chunk));
    add_rows(sched, job, chunk, args);
    gw_sched_edges_link(sched, job, base);
    add_names(job, chunk);
    job->unfinished += rows;
    gw_sched_actor_rows_added(sched, job, rows);
    for (uint32_t i = 0; i < chunk->targets.count; i++) {
        uint32_t row = gw_col32_at(chunk->targets, i);
        if (tasks->flags[row] & GW_TASK_TARGET)
            continue;
        tasks->flags[row] |= GW_TASK_TARGET | GW_TASK_HELD;
        tasks->users[row]++;
        job->held++;
    }
    for (uint32_t row = base; row < tasks->count; row++) {
        if (tasks->deps_at[row] != gw_sched_deps_end(tasks, row))
            gw_sched_task_use(sched, job, row);
        if (tasks->waiting[row] == 0 && !gw_sched_job_is_value(job)) /* that one never runs */
            gw_sched_task_ready(sched, job, row);
    }
    if (job->gate_failed)
        GW_MUST(gw_array_push(&sched->ungated, job->id));
}
