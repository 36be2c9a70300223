/* Checks specs and chunks of a submission.
 *
 * A check covers everything that the applier relies on, so the applier does not check again. The
 * successors of a chunk's own rows are stored as compressed rows. The successors of tasks of
 * earlier chunks or of other jobs are appended to the successor list of the task that they wait
 * for. */
#include "scheduler/core/requests/chunk.h"

#include "graph/base/text.h"
#include "graph/model/options.h"
#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/membership/disconnected.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/gang_size.h"
#include "scheduler/core/requests/annotation.h"

#include <gangway/options.h>

#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { INDEX_TAG = 0xd3, INDEX_BYTES = 9 }; /* tag and size of an int64 in MessagePack */

/* -- Specs ------------------------------------------------------------------------------------ */

static void describe_need(const struct gw_resource_class *shape, char *text, size_t bytes)
{
    if (gw_sched_queue_class_slotless(shape))
        (void)snprintf(text, bytes, "no slot");
    else
        (void)snprintf(text, bytes, "%u slot%s", shape->slots, shape->slots == 1 ? "" : "s");
    gw_sched_gpu_text_of(shape, text, bytes);
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
    uint32_t drained = gw_sched_gpu_text_worker_drained(largest);
    uint32_t gpus = gw_sched_gpu_twin_own(largest) - drained;
    char aside[32] = "", size[GW_TEXT_BYTES_ROOM];
    if (drained)
        (void)snprintf(aside, sizeof aside, " (%u more drained)", drained);
    (void)snprintf(text, bytes, "%u slot%s, %u GPU%s%s, %s of memory", largest->slots,
                   plural(largest->slots), gpus, plural(gpus), aside,
                   gw_text_bytes(largest->memory_bytes, size));
}

int gw_sched_chunk_infeasible(const struct gw_sched *sched, const struct gw_resource_class *shape,
                              struct gw_error *error)
{
    if (sched->workers_ready == 0)
        return 0;
    int rc = gw_sched_need_unserved(sched, shape, error);
    if (rc == 0 && shape->need)
        rc = gw_sched_need_missing(sched, shape, error);
    char need[320], largest[160], aside[48] = "";
    if (rc < 0 || (shape->need && !shape->need->prefer &&
                   gw_sched_need_gone(sched, shape->need, need, sizeof need)))
        return rc; /* a worker that was lost may come back */
    if (gw_sched_ranks_hold_least(sched, shape) || gw_sched_disconnected_could(sched, shape))
        return 0;
    struct gw_resource_class least =
        gw_sched_gang_size_shape(shape, gw_sched_gang_size_least(shape));
    /* The error message describes the smallest size with which the gang may start. */
    shape = &least;
    uint64_t ranks = gw_sched_ranks_ever(sched, shape);
    rc = gw_sched_gpu_text_missing(sched, shape, error);
    if (rc < 0)
        return rc;
    describe_need(shape, need, sizeof need);
    describe_largest(sched, largest, sizeof largest);
    uint32_t drained = gw_sched_gpu_text_drained(sched), gpus = sched->gpus - drained;
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

int gw_sched_chunk_spec_check(const struct gw_sched *sched, const struct gw_job *job,
                              const struct gw_msg_spec *spec, struct gw_error *error)
{
    if (spec->kind != GW_SPEC_FUNCTION && spec->kind != GW_SPEC_COMMAND)
        return gw_error_set(error, GW_EINVAL, "a spec of unknown kind %u", spec->kind);
    if (spec->job_key && strlen(spec->job_key) > GW_JOB_KEY_BYTES_MAX)
        return gw_error_set(
            error, GW_EINVAL,
            "the key of the job has %zu bytes, and %d is the most: give a shorter key",
            strlen(spec->job_key), GW_JOB_KEY_BYTES_MAX);
    if (spec->gpu_mode > GW_GPU_MODE_IF_ANY)
        return gw_error_set(
            error, GW_EINVAL,
            "a task has the unknown GPU mode %u: install one version of Gangway on both sides",
            spec->gpu_mode);
    if (spec->gpu_fraction >= GW_GPU_WHOLE ||
        (spec->gpu_fraction && (spec->gpus != 1 || spec->gpu_mode != GW_GPU_MODE_EXACT)))
        return gw_error_set(error, GW_EINVAL,
                            "a task asks for %u thousandths of %u GPUs: a fraction is 1 to 999 "
                            "thousandths of one GPU",
                            spec->gpu_fraction, spec->gpus);
    if (spec->retries > GW_RETRIES_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "a task has %u retries, and %d is the most: give fewer", spec->retries,
                            GW_RETRIES_MAX);
    if (spec->signal > GW_SIGNAL_MAX || (spec->signal && spec->kind != GW_SPEC_COMMAND))
        return gw_error_set(error, GW_EINVAL,
                            "the signal %u cannot be used to end this task: only a command can "
                            "have one, from 1 to %d",
                            spec->signal, GW_SIGNAL_MAX);
    if (spec->ranks > GW_RANKS_MAX)
        return gw_error_set(error, GW_EINFEASIBLE, "a gang has %u ranks, and %d is the most",
                            spec->ranks, GW_RANKS_MAX);
    if (spec->kind == GW_SPEC_FUNCTION && spec->ranks > GW_FUNCTION_RANKS_MAX)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "a gang has %u ranks; a gang of functions may have %d, a gang of "
                            "commands %d: give fewer",
                            spec->ranks, GW_FUNCTION_RANKS_MAX, GW_RANKS_MAX);
    if (spec->ranks_per_node && (spec->spread || spec->ranks % spec->ranks_per_node))
        return gw_error_set(
            error, GW_EINVAL,
            "a gang of %u ranks with %u on each node%s is not possible: the first number must be a "
            "multiple of the second, and such a gang cannot be spread",
            spec->ranks, spec->ranks_per_node, spec->spread ? ", spread" : "");
    if (spec->slots == GW_NONE && (spec->gpus || spec->gpu_mode || spec->ranks || spec->actor))
        return gw_error_set(error, GW_EINVAL,
                            "a task without a slot can have no GPUs, and cannot be a gang or an "
                            "actor: give it a slot");
    int rc = gw_sched_gang_size_check(spec, error);
    if (rc == 0)
        rc = gw_sched_annotation_check(spec, error);
    if (rc == 0)
        rc = gw_sched_actor_spec_check(sched, job, spec, error);
    if (rc < 0)
        return rc;
    struct gw_resource_class shape;
    rc = gw_sched_content_shape(sched, job, spec, &shape, error);
    if (rc < 0)
        return rc;
    if (!shape.calls) {
        gw_sched_queue_class_update(sched, &shape);
        rc = gw_sched_chunk_infeasible(sched, &shape, error);
    }
    gw_sched_need_unref(shape.need);
    return rc;
}

/* -- Checking a chunk ------------------------------------------------------------------------- */

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
        return gw_error_set(error, GW_EPROTO,
                            "submit: the lists in the message have different lengths: is the "
                            "client a copy of Gangway that was changed?");
    return gw_options_check_name(chunk->name, "job", error);
}

/* Returns true if no task of the job is a gang. Then a check need not look up the spec of each
 * dependency to learn its number of ranks. */
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

/* Checks a dependency on a task of another job. Sets *ranks to the number of ranks of that task. */
static int check_other_job(const struct gw_sched *sched, const struct gw_chunk_check *check,
                           const struct gw_msg_submit *chunk, uint32_t edge, uint32_t *ranks,
                           struct gw_error *error)
{
    uint64_t id = gw_col64_at(chunk->dep_job, edge);
    uint32_t index = gw_col32_at(chunk->dep_index, edge);
    const struct gw_job *other = gw_sched_job_find(sched, id);
    if (!other || other == check->job || index >= other->tasks.count)
        return gw_error_set(error, GW_ENOENT,
                            "job %llu has no task %u, whose result this job takes",
                            (unsigned long long)id, index);
    if (other->range)
        return gw_error_set(error, GW_ENOTSUP,
                            "job %llu is a range, so no other task can take its results: let its "
                            "client take them (gw_range_next)",
                            (unsigned long long)id);
    if (other->uid != check->job->uid)
        return gw_error_set(error, GW_EPERM,
                            "job %llu belongs to another user: a job can take results only from "
                            "jobs of its own user",
                            (unsigned long long)id);
    if (other->actor)
        return gw_error_set(
            error, GW_EINVAL,
            "job %llu is an actor, so no task can depend on it: call the actor instead",
            (unsigned long long)id);
    if (check->job->detached && !other->detached)
        return gw_error_set(error, GW_EINVAL,
                            "a detached job cannot take results of job %llu, because that job is "
                            "not detached and ends with its client: submit it detached, too",
                            (unsigned long long)id);
    if (gw_col32_at(chunk->dep_rank, edge) != GW_DEP_AFTER &&
        other->tasks.state[index] == GW_TASK_RELEASED)
        return gw_error_set(error, GW_ENOENT,
                            "the result of task %u of job %llu was released, because no future "
                            "held it any more: keep its future until this job is submitted",
                            index, (unsigned long long)id);
    *ranks = other->specs.items[other->tasks.spec[index]].message.ranks;
    return 0;
}

/* Checks one dependency of row `row`. Adds to *bytes the space that the dependency takes in an
 * assign message. */
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
                                "task %u depends on task %u: a task can depend only on tasks that "
                                "are before it in the job",
                                row, index);
        if (!check->plain)
            ranks = check->job->specs.items[spec_of_row(check, index)].message.ranks;
    }
    if (rank != GW_DEP_ALL && rank != GW_DEP_AFTER && rank >= (ranks ? ranks : 1))
        return gw_error_set(
            error, GW_EINVAL,
            "task %u takes the value of rank %u of a gang, which has %u ranks, counted from 0", row,
            rank, ranks ? ranks : 1);
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
            return gw_error_set(
                error, GW_EINVAL,
                "task %u names the description %u (spec), which was not sent before", base + i,
                spec);
        if (deps > GW_TASK_DEPS_MAX)
            return gw_error_set(error, GW_ELIMIT,
                                "task %u depends on %u tasks, and %d is the most: combine some of "
                                "their results in tasks between",
                                base + i, deps, GW_TASK_DEPS_MAX);
        uint64_t bytes = gw_col32_at(chunk->args_size, i);
        for (uint32_t end = edge + deps; edge < end; edge++) {
            int rc = check_edge(sched, check, chunk, edge, base + i, &bytes, error);
            if (rc < 0)
                return rc;
        }
        if (bytes > GW_ROW_BYTES_MAX)
            return gw_error_set(
                error, GW_ELIMIT,
                "the arguments of task %u are larger than %d KiB: pass large values by gw_scatter",
                base + i, GW_ROW_BYTES_MAX >> 10);
        check->specs.items[check->specs.count++] = spec;
    }
    return 0;
}

int gw_sched_chunk_check(const struct gw_sched *sched, struct gw_chunk_check *check,
                         const struct gw_msg_submit *chunk, struct gw_error *error)
{
    int rc = check_columns(chunk, error);
    if (rc < 0)
        return rc;
    uint64_t rows = (uint64_t)check->job->tasks.count + check->specs.count + chunk->spec.count;
    if (rows > GW_TASKS_MAX)
        return gw_error_set(error, GW_ELIMIT,
                            "a job has more than %d tasks, which is the most: submit several jobs",
                            GW_TASKS_MAX);
    uint64_t edges = check->job->tasks.edges + check->edges + chunk->dep_job.count +
                     gw_sched_content_pure_rows(check->job, chunk);
    if (edges > GW_EDGES_MAX)
        return gw_error_set(error, GW_ELIMIT,
                            "a job has more than %u dependencies between its tasks, which is the "
                            "most: submit several jobs",
                            GW_EDGES_MAX);
    if (rows > 1 && check->job->actor)
        return gw_error_set(
            error, GW_EINVAL,
            "an actor must be the only task of its job: submit the other tasks as another job");
    rc = check_rows(sched, check, chunk, error);
    if (rc < 0)
        return rc;
    check->edges += chunk->dep_job.count + gw_sched_content_pure_rows(check->job, chunk);
    for (uint32_t i = 0; i < chunk->targets.count; i++)
        if (gw_col32_at(chunk->targets, i) >= rows ||
            gw_col32_at(chunk->targets, i) < rows - chunk->spec.count)
            return gw_error_set(
                error, GW_EINVAL,
                "the client wants the result of task %u, which is not in this part of the job",
                gw_col32_at(chunk->targets, i));
    const char *name = chunk->names.data;
    for (uint32_t i = 0; i < chunk->named.count; i++) {
        uint32_t row = gw_col32_at(chunk->named, i), size = gw_col32_at(chunk->name_size, i);
        if (row >= rows)
            return gw_error_set(error, GW_EINVAL,
                                "a name is given for task %u, which does not exist", row);
        if (!gw_text_is_line(name, size))
            return gw_error_set(
                error, GW_EINVAL,
                "the name of task %u is not one line of UTF-8 text: give it another name", row);
        name += size;
    }
    return 0;
}

/* -- Checking a range ------------------------------------------------------------------------- */

static int check_numbers(const struct gw_msg_range *range, struct gw_error *error)
{
    const __int128 span = (__int128)range->step * ((int64_t)range->count - 1);
    if (range->count == 0 || range->count > GW_TASKS_MAX)
        return gw_error_set(error, GW_ELIMIT,
                            "a range has %u tasks, but must have 1 to %d: submit several ranges",
                            range->count, GW_TASKS_MAX);
    if (range->begin + span > INT64_MAX || range->begin + span < INT64_MIN)
        return gw_error_set(error, GW_EINVAL,
                            "the last number of a range is outside the 64-bit integers (-2^63 to "
                            "2^63 - 1): give other limits or another step");
    const uint8_t *args = range->args.data;
    if (range->args.size < INDEX_BYTES || range->index_at > range->args.size - INDEX_BYTES ||
        args[range->index_at] != INDEX_TAG)
        return gw_error_set(error, GW_EPROTO,
                            "the arguments of a range have no place for the number of each task: "
                            "install one version of Gangway on both sides");
    return 0;
}

/* All tasks of a range share their spec, arguments and dependencies, so one task is checked for
 * all. */
int gw_sched_chunk_range_check(const struct gw_sched *sched, const struct gw_job *job,
                               const struct gw_msg_range *range, struct gw_error *error)
{
    const uint32_t zero = 0;
    const struct gw_msg_submit chunk = {
        .spec = {&zero, 1},
        .args_size = {&range->args.size, 1},
        .args = range->args,
        .dep_count = {&range->dep_job.count, 1},
        .dep_job = range->dep_job,
        .dep_index = range->dep_index,
        .dep_rank = range->dep_rank,
        .names = {"", 0},
        .name = range->name,
    };
    struct gw_chunk_check check = {.job = job};
    int rc = check_numbers(range, error);
    if (rc == 0 && job->tasks.count > 0)
        rc = gw_error_set(
            error, GW_EINVAL,
            "the job is a range, and tasks cannot be added to a range: submit them as another job");
    for (uint32_t i = 0; i < range->dep_job.count && rc == 0; i++)
        if (gw_col64_at(range->dep_job, i) == 0)
            rc = gw_error_set(error, GW_EINVAL, "a range can only take results of earlier jobs");
    if (rc == 0)
        rc = gw_sched_chunk_check(sched, &check, &chunk, error);
    gw_array_deinit(&check.specs);
    if (rc == 0 && !gw_sched_tasks_may_map(range->count))
        rc = gw_error_set(error, GW_ENOMEM,
                          "the scheduler has too little memory for a table of %u tasks: submit "
                          "several smaller ranges",
                          range->count);
    if (rc == 0 && job->specs.items[0].message.slots == GW_NONE)
        rc = gw_error_set(error, GW_EINVAL, "the tasks of a range cannot be without a slot");
    else if (rc == 0 && job->specs.items[0].message.ranks > 0)
        rc = gw_error_set(error, GW_EINVAL, "a range must consist of ordinary tasks, not of gangs");
    else if (rc == 0 && (job->actor || job->calls_of))
        rc = gw_error_set(error, GW_EINVAL,
                          "a range must consist of ordinary tasks, not of calls of an actor");
    return rc;
}
