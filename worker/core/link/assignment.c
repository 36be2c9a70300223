/* Handles assign messages of the scheduler, which bring attempts and ranks, and kill messages,
 * which end them. */
#include "worker/core/link/assignment.h"

#include "worker/core/gangs/actor.h"
#include "worker/core/gangs/gang.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/job.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/fetch.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/processes/memory_limits.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/actor_queue.h"
#include "worker/core/runners/runner_pool.h"
#include "worker/core/runners/successor.h"

#include <stdlib.h>
#include <string.h>

/* Position of one row of an assign message: the row number, and where the row's parts begin in the
 * columns of GPUs, dependencies, arguments and values. */
struct row {
    const struct gw_msg_assign *assign;
    uint32_t i, gpu, dep;
    const uint8_t *args, *values;
};

static void copy_row(struct gw_attempt *run, struct row *row)
{
    const struct gw_msg_assign *assign = row->assign;
    uint32_t i = row->i, values = 0;
    run->gpu_count = gw_col32_at(assign->gpu_count, i);
    run->dep_count = gw_col32_at(assign->dep_count, i);
    run->args_size = gw_col32_at(assign->args_size, i);
    for (uint32_t d = 0; d < run->dep_count; d++)
        values += gw_col32_at(assign->dep_value_size, row->dep + d);

    size_t deps_bytes = run->dep_count * sizeof *run->deps;
    size_t bytes = deps_bytes + run->gpu_count * sizeof *run->gpus + run->args_size + values;
    uint8_t *at = (uint8_t *)(void *)run->small;
    if (bytes > sizeof run->small) { /* malloc, since calloc bypasses glibc's thread cache */
        at = run->block = malloc(bytes);
        GW_MUST_PTR(at);
    }
    run->deps = (struct gw_attempt_input *)(void *)at;
    at += deps_bytes;
    run->gpus = (uint32_t *)(void *)at;
    at += run->gpu_count * sizeof *run->gpus;
    for (uint32_t g = 0; g < run->gpu_count; g++)
        run->gpus[g] = gw_col32_at(assign->gpus, row->gpu++);
    if (run->args_size)
        memcpy(at, row->args, run->args_size);
    run->args = at;
    at += run->args_size;
    row->args += run->args_size;
    for (uint32_t d = 0; d < run->dep_count; d++, row->dep++) {
        struct gw_attempt_input *dep = &run->deps[d];
        *dep = (struct gw_attempt_input){
            .job = gw_col64_at(assign->dep_job, row->dep),
            .index = gw_col32_at(assign->dep_index, row->dep),
            .rank = gw_col32_at(assign->dep_rank, row->dep),
            .bytes = gw_col64_at(assign->dep_bytes, row->dep),
            .worker = gw_col32_at(assign->dep_worker, row->dep),
            .value_size = gw_col32_at(assign->dep_value_size, row->dep),
            .value = at,
        };
        if (dep->value_size)
            memcpy(at, row->values, dep->value_size);
        at += dep->value_size;
        row->values += dep->value_size;
    }
}

static void skip_row(struct row *row)
{
    const struct gw_msg_assign *assign = row->assign;
    uint32_t deps = gw_col32_at(assign->dep_count, row->i);
    row->gpu += gw_col32_at(assign->gpu_count, row->i);
    row->args += gw_col32_at(assign->args_size, row->i);
    for (uint32_t d = 0; d < deps; d++, row->dep++)
        row->values += gw_col32_at(assign->dep_value_size, row->dep);
}

static void gather_inputs(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_workdir_want(core, run);
    for (uint32_t d = 0; d < run->dep_count; d++) {
        struct gw_attempt_input *dep = &run->deps[d];
        if (dep->worker == GW_DEP_HERE) {
            if (gw_successor_wait(core, run, d))
                continue;
            /* The attempt that makes the input has ended meanwhile; the scheduler knows its end */
            dep->worker = 0;
            dep->bytes = 0;
        }
        if (dep->value_size || dep->rank == GW_DEP_AFTER || dep->rank == GW_DEP_ALL)
            continue; /* GW_DEP_ALL only starts a list: the next rows hold the data of all ranks */
        struct gw_object *object = gw_object_find(core, dep->job, dep->index, dep->rank);
        if (object)
            (void)gw_object_use(core, object, run, d);
        else
            gw_fetch_for(core, run, d);
    }
    if (!run->missing)
        gw_runner_pool_queue(core, run);
}

/* The spec of the row before. Nearly every row has the same spec as the row before it. */
struct spec_seen {
    uint64_t job;
    uint32_t number;
    struct gw_node_spec *spec; /* NULL: no row was looked up yet */
};

static struct gw_node_spec *spec_of_row(struct gw_node_core *core,
                                        const struct gw_msg_assign *assign, uint32_t i,
                                        struct spec_seen *seen)
{
    uint64_t job = gw_col64_at(assign->job, i);
    uint32_t number = gw_col32_at(assign->spec, i);
    if (!seen->spec || seen->job != job || seen->number != number)
        *seen = (struct spec_seen){job, number, gw_job_spec(core, job, number)};
    return seen->spec;
}

static bool row_is_well(struct gw_node_core *core, const struct gw_msg_assign *assign, uint32_t i,
                        struct spec_seen *seen)
{
    uint64_t value;
    const struct gw_node_spec *spec = spec_of_row(core, assign, i, seen);
    if (!spec || (spec->message.kind != GW_SPEC_FUNCTION && spec->message.kind != GW_SPEC_COMMAND))
        return false;
    if (gw_col32_at(assign->rank, i) == GW_RANK_NONE)
        return true;
    if (!gw_map_get(&core->gangs, gw_col64_at(assign->attempt, i), &value))
        return false;
    const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
    return gw_col32_at(assign->rank, i) - gang->message.first_rank < gang->message.local;
}

int gw_assignment_on_assign(struct gw_node_core *core, const struct gw_msg_assign *assign)
{
    struct spec_seen seen = {0};
    for (uint32_t i = 0; i < assign->attempt.count; i++)
        if (!row_is_well(core, assign, i, &seen))
            return GW_EPROTO;
    for (uint32_t i = 0; i < assign->gpus.count; i++)
        if (gw_col32_at(assign->gpus, i) >= core->options.gpu_count)
            return GW_EPROTO;
    struct row row = {
        .assign = assign, .args = assign->args.data, .values = assign->dep_values.data};
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        uint64_t attempt = gw_col64_at(assign->attempt, i), value;
        uint32_t rank = gw_col32_at(assign->rank, i);
        row.i = i;
        if (gw_attempt_find(core, attempt, rank)) { /* the attempt is already here */
            skip_row(&row);
            continue;
        }
        struct gw_attempt *run = gw_attempt_new(core);
        run->attempt = attempt;
        run->rank = rank;
        run->job = gw_col64_at(assign->job, i);
        run->index = gw_col32_at(assign->index, i);
        run->try_number = gw_col32_at(assign->try_number, i);
        run->spec = spec_of_row(core, assign, i, &seen);
        run->spec->refs++;
        core->runs += !gw_actor_queue_calls(run);
        copy_row(run, &row);
        if (rank == GW_RANK_NONE) {
            GW_MUST(gw_map_put(&core->attempts, attempt, (uintptr_t)run));
        } else {
            gw_map_get(&core->gangs, attempt, &value);
            run->gang = (struct gw_gang *)(uintptr_t)value;
            run->gang->arrived++;
            GW_MUST(gw_array_push(&run->gang->ranks, run));
        }
        gw_attempt_push(&core->waiting, run);
        if (!gw_actor_queue_calls(run) || gw_node_actor_join(core, run))
            gather_inputs(core, run);
    }
    return 0;
}

/* -- Ends ----------------------------------------------------------------------------------------
 */

/* Ends an attempt as a kill message orders. An attempt that has not started ends at once. An
 * attempt that waits in a runner behind others ends when it becomes the first. Actors and their
 * calls follow rules of their own (gw_node_actor_kill). */
static void kill_run(struct gw_node_core *core, struct gw_attempt *run,
                     const struct gw_msg_kill *kill)
{
    bool asked = kill->reason == GW_KILL_TAKE_BACK;
    if (run->state == GW_ATTEMPT_ENDED ||
        (asked && (run->process || gw_memory_limits_keeps(core, run))) ||
        gw_node_actor_kill(core, run, kill))
        return;
    if (run->state == GW_ATTEMPT_SENT && !gw_attempt_executes(run)) {
        run->killing = true;
        run->kill_grace_ns = kill->grace_ns;
        return;
    }
    run->preempted = kill->reason == GW_KILL_PREEMPT;
    const char *why = kill->reason == GW_KILL_GANG ? "another rank ended" : "killed";
    gw_process_end_attempt(core, run, gw_attempt_killed(why), kill->grace_ns);
}

static void kill_gang(struct gw_node_core *core, struct gw_gang *gang,
                      const struct gw_msg_kill *kill)
{
    if (kill->reason == GW_KILL_GANG)
        gw_gang_abort(core, gang);
    if (!gang->ranks.count)
        gw_gang_tidy(core, gang);
    else
        for (size_t i = gang->ranks.count; i-- > 0;)
            kill_run(core, gang->ranks.items[i], kill);
}

void gw_assignment_let_go(struct gw_node_core *core)
{
    GW_ARRAY(uint64_t) waiting = {0};
    size_t at = 0;
    uint64_t attempt, value;
    while (gw_map_next(&core->attempts, &at, &attempt, &value)) {
        const struct gw_attempt *run = (struct gw_attempt *)(uintptr_t)value;
        if (!run->process && !run->actor && !run->spec->message.actor &&
            (run->state == GW_ATTEMPT_WAITING || run->state == GW_ATTEMPT_READY))
            GW_MUST(gw_array_push(&waiting, attempt));
    }
    for (size_t i = 0; i < waiting.count; i++) {
        struct gw_attempt *run = gw_attempt_find(core, waiting.items[i], GW_RANK_NONE);
        gw_process_end_attempt(core, run, gw_attempt_killed("its scheduler is gone"), 0);
    }
    gw_array_deinit(&waiting);
}

void gw_assignment_on_kill(struct gw_node_core *core, const struct gw_msg_kill *kill)
{
    for (uint32_t i = 0; i < kill->attempt.count; i++) {
        uint64_t attempt = gw_col64_at(kill->attempt, i), value;
        if (gw_map_get(&core->gangs, attempt, &value)) {
            kill_gang(core, (struct gw_gang *)(uintptr_t)value, kill);
            continue;
        }
        struct gw_attempt *run = gw_attempt_find(core, attempt, GW_RANK_NONE);
        if (run)
            kill_run(core, run, kill);
    }
}
