/* Changes of state that add the specs and tasks of a submission to a job. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/account.h"
#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/content.h"
#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/gate.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/pure.h"
#include "scheduler/core/model/jobs/range.h"
#include "scheduler/core/model/jobs/scattered.h"
#include "scheduler/core/model/jobs/task.h"
#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/queue.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns the arena space of a copy, rounded up to the alignment. 0 bytes need no space. */
static size_t room(size_t bytes)
{
    return (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static size_t text_room(const char *text)
{
    return text && *text ? room(strlen(text) + 1) : 0;
}

/* Reserves arena space for the texts of a spec. Most jobs have one spec and no names, so their
 * arena is exactly as large as needed. */
static void reserve_texts(struct gw_job *job, const struct gw_msg_spec *spec)
{
    size_t bytes = room(spec->program.size) + text_room(spec->function) + room(spec->argv.size) +
                   room(spec->env.size) + room(spec->epilog.size) + text_room(spec->cwd) +
                   text_room(spec->resources) + text_room(spec->workers) +
                   text_room(spec->annotations) + room(spec->files.size) +
                   text_room(spec->actor_name) + text_room(spec->job_key) +
                   text_room(spec->metrics) + text_room(spec->account) + text_room(spec->queue);
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

void gw_sched_content_add_spec(struct gw_sched *sched, struct gw_job *job,
                               const struct gw_msg_spec *message)
{
    if (message->kind == GW_SPEC_VALUE) {
        gw_sched_scattered_spec(job);
        gw_account_pay(sched, job);
        return;
    }
    struct gw_spec spec = {.message = *message};
    spec.message.key = job->id;
    reserve_texts(job, message);
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
    spec.message.job_key = copy_text(job, spec.message.job_key);
    spec.message.metrics = copy_text(job, spec.message.metrics);
    spec.message.account = copy_text(job, spec.message.account);
    spec.message.queue = copy_text(job, spec.message.queue);
    struct gw_resource_class shape;
    GW_MUST(gw_sched_content_shape(sched, job, message, &shape, NULL));
    spec.shape = gw_sched_queue_class_for(sched, &shape);
    gw_sched_need_unref(shape.need);
    spec.queue = gw_sched_queue_for(sched, job, spec.shape, spec.message.priority);
    GW_MUST(gw_array_push(&job->specs, spec));
    if (job->specs.count == 1)
        gw_account_pay(sched, job);
    gw_sched_hold_on_spec(sched, job, spec.shape);
    gw_sched_actor_spec_added(sched, job);
}

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

/* Handles a new task whose result is that of an earlier pure task: it gets a single dependency, on
 * that task. Returns false if the task does not share a result. */
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

/* Prefetches into the CPU cache the state of the row that a dependency names. */
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
        tasks->succ[row] = tasks->object[row] = GW_NO_INDEX;
        tasks->deps_at[row] = tasks->edges;
        uint32_t deps = gw_col32_at(chunk->dep_count, i);
        if (add_alias(sched, job, &(struct gw_chunk_row_at){chunk, i, edge, tasks->args[row]}))
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

void gw_sched_content_add_chunk(struct gw_sched *sched, struct gw_job *job,
                                const struct gw_msg_submit *chunk)
{
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
    gw_sched_tasks_reserve(tasks, rows,
                           chunk->dep_job.count + gw_sched_content_pure_rows(job, chunk));
    add_rows(sched, job, chunk, args);
    gw_sched_edges_link(sched, job, base);
    add_names(job, chunk);
    job->unfinished += rows;
    sched->tally.unfinished += rows;
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
        /* A scattered value never runs. */
        if (tasks->waiting[row] == 0 && !gw_sched_job_is_value(job))
            gw_sched_task_ready(sched, job, row);
    }
    if (job->gate_failed)
        GW_MUST(gw_array_push(&sched->ungated, job->id));
}

static int frame_apply(struct gw_sched *sched, const struct gw_message *message, void *arg,
                       struct gw_error *error)
{
    struct gw_job *job = arg;
    if (message->type == GW_MESSAGE_range)
        gw_sched_range_add(sched, job, &message->range);
    else if (message->type == GW_MESSAGE_after)
        gw_sched_gate_add(sched, job, &message->after);
    else if (message->type != GW_MESSAGE_spec)
        gw_sched_content_add_chunk(sched, job, &message->submit);
    else if (message->spec.number == job->specs.count)
        gw_sched_content_add_spec(sched, job, &message->spec);
    return 0;
}

int gw_sched_content_replay(struct gw_sched *sched, struct gw_job *job, struct gw_bin content)
{
    return gw_sched_content_each(sched, content, frame_apply, job, NULL);
}

void gw_sched_hold_on_spec(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_resource_class *shape)
{
    if (!sched->hold.until_ns || job->awaits ||
        !(gw_sched_queue_class_gpus(shape) || shape->gpu_if_any))
        return;
    job->awaits = true;
    for (size_t i = 0; i < job->queues.count; i++)
        gw_sched_queue_hold(sched, job->queues.items[i]);
}

void gw_sched_content_refuse(struct gw_session *session, uint64_t request, bool more)
{
    if (more)
        GW_MUST(gw_map_put(&session->refused, request, 1));
    else
        (void)gw_map_remove(&session->refused, request);
}

void gw_sched_content_open_stream(struct gw_job *job)
{
    job->stream = true;
}

/* The tasks so far form complete graphs. Later tasks refer to them only through futures, so tasks
 * and results without holders may be dropped now. */
void gw_sched_content_part_stream(struct gw_sched *sched, struct gw_job *job)
{
    for (uint32_t row = job->stream_rows; row < job->tasks.count; row++) {
        if (job->tasks.users[row] > 0)
            continue;
        if (job->tasks.state[row] == GW_TASK_DONE)
            GW_MUST(gw_array_push(&sched->idle, ((struct gw_row){job, row})));
        else if (!gw_sched_task_final(job, row) && (job->tasks.flags[row] & GW_TASK_TARGET))
            GW_MUST(gw_array_push(&sched->unwanted, ((struct gw_row){job, row})));
    }
    job->stream_rows = job->tasks.count;
}
