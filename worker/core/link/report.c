/* Handles the reports of runners about ended tasks, and reports the ends to the scheduler.
 *
 * Invariant: a runner reports tasks in the order in which it received them. Anything else is a
 * protocol error. It is detected before any state changes. */
#include "worker/core/link/report.h"

#include "worker/core/link/cpu_time.h"
#include "worker/core/link/orphaned.h"
#include "worker/core/link/progress_throttle.h"
#include "worker/core/link/retire.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/model/output_path.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/result_memfd.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/runner_pool.h"
#include "worker/core/runners/successor.h"

#include <string.h>

enum {
    LAZY_RUNS_MIN = 32
}; /* if at least this many other attempts are on this worker, a finished message may be delayed */

/* Writes the path of the file that holds the stderr of an attempt. */
static void stderr_path(const struct gw_node_core *core, const struct gw_attempt *run,
                        char path[GW_NODE_PATH_MAX])
{
    struct gw_node_place place;
    char dir[GW_NODE_PATH_MAX];
    gw_attempt_place(run, &place);
    if (run->actor) /* calls of an actor print to the actor's files */
        place = run->actor->place;
    /* The runner failed to start, so its output is still in the process's capture file */
    if (run->end.capture)
        gw_node_capture_path(gw_node_output_path_dir(core->options.log_dir, place.user, dir),
                             core->incarnation, run->end.capture, "err", path);
    else
        gw_node_output_path(core->options.log_dir, &place, "err", path);
}

void gw_report_failed(struct gw_node_core *core, struct gw_attempt *run, const char *text)
{
    char path[GW_NODE_PATH_MAX];
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDED);
    /* A later scheduler needs a report of its own for each failed attempt */
    if (!core->registered) {
        run->end.text = gw_core_strdup(text);
        stderr_path(core, run, path);
        gw_orphaned_ended(core, run, path);
    }
    gw_retire_attempt(core, run);
}

void gw_report_end(struct gw_node_core *core, struct gw_attempt *run)
{
    if (run->state != GW_ATTEMPT_ENDED)
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDED);
    gw_progress_throttle_end(core, run);
    gw_cpu_time_give(core, run);
    char path[GW_NODE_PATH_MAX];
    stderr_path(core, run, path);
    struct gw_message message = gw_attempt_message(core, &run->end, run->tail);
    message.ended.attempt = run->attempt;
    message.ended.rank = run->rank;
    const char *copy = gw_core_text(core, path);
    gw_orphaned_ended(core, run, path);
    gw_core_tell(core, &message, (struct gw_bin){copy, (uint32_t)strlen(copy) + 1});
    gw_retire_attempt(core, run);
}

/* -- Finished ------------------------------------------------------------------------------------
 */

static bool rows_are_well(const struct gw_process *process, const struct gw_msg_finished *finished,
                          uint32_t token_count)
{
    const struct gw_attempt *run = process->queue.first;
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < finished->attempt.count; i++, run = run->next) {
        uint32_t size = gw_col32_at(finished->value_size, i);
        if (!run || run->attempt != gw_col64_at(finished->attempt, i) ||
            run->rank != gw_col32_at(finished->rank, i))
            return false;
        if (run->state != (run->gang ? GW_ATTEMPT_RUNNING : GW_ATTEMPT_SENT) ||
            size > GW_INLINE_BYTES_MAX)
            return false;
        tokens += size == 0;
    }
    return tokens == token_count;
}

/* Updates the moving average of a task's duration. UINT64_MAX: no value is known yet. */
static void learn_cost(uint64_t *cost_ns, uint64_t run_ns)
{
    if (*cost_ns == UINT64_MAX)
        *cost_ns = run_ns;
    else if (run_ns >= *cost_ns)
        *cost_ns += (run_ns - *cost_ns) / 8;
    else
        *cost_ns -= (*cost_ns - run_ns) / 8;
}

static struct gw_object *store_value(struct gw_node_core *core, struct gw_attempt *run,
                                     uint64_t token, uint64_t bytes)
{
    if (run->pool && bytes >= GW_MEMFILE_BYTES_MIN)
        gw_runner_pool_learn(run->pool, run->spec, bytes);
    struct gw_object like = {
        .job = gw_core_job(core, run->job, true),
        .index = run->index,
        .rank = run->rank == GW_RANK_NONE ? 0 : run->rank,
        .attempt = run->attempt,
        .token = token,
        .bytes = bytes,
        .memfile = gw_result_memfd_take(core, run, bytes),
    };
    return gw_object_put(core, &like);
}

/* One entry of a finished message, for one attempt: its value is in the message itself, or in the
 * file that `token` stands for. */
struct finished {
    struct gw_bin value;
    uint64_t token, bytes, run_ns;
};

static void finish(struct gw_node_core *core, struct gw_attempt *run, const struct finished *row)
{
    struct gw_object *object = NULL;
    if (row->value.size == 0)
        object = store_value(core, run, row->token, row->bytes);
    gw_successor_give(core, run, row->value, object);
    if (!core->registered || gw_orphaned_tells_again(run))
        gw_orphaned_finished(core, run, row->value,
                             &(struct gw_orphaned_result){row->bytes, row->run_ns});
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDED);
    gw_retire_attempt(core, run);
}

int gw_report_on_finished(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_event *event)
{
    const struct gw_msg_finished *in = &event->message->finished;
    uint32_t count = in->attempt.count, token = 0;
    if (!rows_are_well(process, in, event->token_count)) {
        for (uint32_t i = 0; i < event->token_count; i++)
            gw_core_drop_token(core, event->tokens[i]);
        return GW_EPROTO;
    }
    if (!count)
        return 0;
    gw_cpu_time_divide(core, process, in->attempt, in->run_ns);
    const uint8_t *values = in->values.data;
    bool lazy = core->attempts.count >= LAZY_RUNS_MIN + count;
    for (uint32_t i = 0; i < count; i++) {
        struct gw_attempt *run = process->queue.first;
        struct finished row = {.value = {values, gw_col32_at(in->value_size, i)},
                               .bytes = gw_col64_at(in->bytes, i),
                               .run_ns = gw_col64_at(in->run_ns, i)};
        if (row.value.size == 0)
            row.token = event->tokens[token++];
        values += row.value.size;
        if (run->actor)
            learn_cost(&run->actor->cost_ns, row.run_ns);
        else
            learn_cost(&run->spec->cost_ns, row.run_ns);
        lazy = lazy && run->first_successor;
        finish(core, run, &row);
    }
    struct gw_message out = {.type = GW_MESSAGE_finished};
    out.finished = (struct gw_msg_finished){
        .attempt = {gw_core_copy(core, in->attempt.data, (size_t)count * 8), count},
        .rank = {gw_core_copy(core, in->rank.data, (size_t)count * 4), count},
        .bytes = {gw_core_copy(core, in->bytes.data, (size_t)count * 8), count},
        .value_size = {gw_core_copy(core, in->value_size.data, (size_t)count * 4), count},
        .values = {gw_core_copy(core, in->values.data, in->values.size), in->values.size},
        .run_ns = {gw_core_copy(core, in->run_ns.data, (size_t)count * 8), count},
    };
    gw_core_tell(core, &out, (struct gw_bin){0});
    /* The attempts that need the results run on this worker and have them already, so the message
     * may be delayed */
    if (lazy && core->registered)
        core->effects->list.items[core->effects->list.count - 1].lazy = true;
    gw_process_next(core, process);
    return 0;
}

void gw_report_of_command(struct gw_node_core *core, struct gw_attempt *run)
{
    struct {
        uint64_t attempt, bytes, run_ns;
        uint32_t rank, value_size;
        uint8_t value; /* the value 0 in MessagePack */
    } *row = gw_core_scratch(core, sizeof *row);
    row->attempt = run->attempt;
    row->rank = run->rank;
    row->bytes = row->value_size = 1;
    row->run_ns =
        run->process->ran_ns ? run->process->ran_ns : core->now_ns - run->process->head_since_ns;
    learn_cost(&run->spec->cost_ns, row->run_ns);
    gw_cpu_time_give(core, run);
    struct gw_message out = {.type = GW_MESSAGE_finished};
    out.finished = (struct gw_msg_finished){
        .attempt = {&row->attempt, 1},
        .rank = {&row->rank, 1},
        .bytes = {&row->bytes, 1},
        .value_size = {&row->value_size, 1},
        .values = {&row->value, 1},
        .run_ns = {&row->run_ns, 1},
    };
    gw_successor_give(core, run, (struct gw_bin){&row->value, 1}, NULL);
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDED);
    gw_orphaned_finished(core, run, (struct gw_bin){&row->value, 1},
                         &(struct gw_orphaned_result){row->bytes, row->run_ns});
    gw_core_tell(core, &out, (struct gw_bin){0});
    gw_retire_attempt(core, run);
}

/* -- Ended ---------------------------------------------------------------------------------------
 */

int gw_report_on_ended(struct gw_node_core *core, struct gw_process *process,
                       const struct gw_msg_ended *ended)
{
    struct gw_attempt *run = process->queue.first;
    if (!run || run->attempt != ended->attempt || run->rank != ended->rank)
        return GW_EPROTO;
    if (run->state != GW_ATTEMPT_SENT && run->state != GW_ATTEMPT_RUNNING &&
        run->state != GW_ATTEMPT_STARTING && run->state != GW_ATTEMPT_RANK_READY)
        return GW_EPROTO;
    /* A runner may not report the other outcomes: the worker or the scheduler decides them */
    switch (ended->outcome) {
    case GW_OUTCOME_FAILED:
    case GW_OUTCOME_OOM:
    case GW_OUTCOME_CANNOT_START:
        break;
    case GW_OUTCOME_UNREACHED:
        if (!run->gang)
            return GW_EPROTO;
        break;
    default:
        return GW_EPROTO;
    }
    if (ended->outcome == GW_OUTCOME_FAILED && !run->actor)
        learn_cost(&run->spec->cost_ns, ended->run_ns);
    run->end = (struct gw_attempt_end){
        .outcome = ended->outcome,
        .executing = ended->executing,
        .code = ended->code,
        .exit_code = ended->exit_code,
        .run_ns = ended->run_ns,
        .peer = ended->peer,
        .text = gw_core_strdup(ended->text),
    };
    gw_attempt_know_tail(run, ended->stderr_tail);
    gw_report_end(core, run);
    gw_successor_settle(core);
    gw_process_next(core, process);
    return 0;
}

static void *copy_rows(struct gw_node_core *core, struct gw_col64 column, uint32_t from,
                       uint32_t count)
{
    return gw_core_copy(core, (const uint8_t *)column.data + (size_t)from * 8, (size_t)count * 8);
}

/* Reports the rows from..to-1 of a failures message to the scheduler at once. */
static void tell_failures(struct gw_node_core *core, const struct gw_msg_failures *in,
                          uint32_t from, uint32_t to)
{
    if (from == to || !core->registered)
        return;
    const uint32_t count = to - from;
    struct gw_message out = {.type = GW_MESSAGE_failures};
    out.failures = (struct gw_msg_failures){
        .code = in->code,
        .text = gw_core_text(core, in->text),
        .stderr_tail = gw_core_text(core, in->stderr_tail),
        .attempt = {copy_rows(core, in->attempt, from, count), count},
        .run_ns = {copy_rows(core, in->run_ns, from, count), count},
    };
    gw_core_tell(core, &out, (struct gw_bin){0});
}

/* Handles a message about several failed tasks. If a failed task has successors, they must be given
 * back after the failure is reported and before the next row is handled. Therefore the rows up to
 * that task are reported first. */
int gw_report_on_failures(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_msg_failures *in)
{
    uint32_t i, told = 0;
    if (!in->attempt.count)
        return 0;
    gw_cpu_time_divide(core, process, in->attempt, in->run_ns);
    for (i = 0; i < in->attempt.count; i++) {
        struct gw_attempt *run = process->queue.first;
        if (!run || run->attempt != gw_col64_at(in->attempt, i) || run->rank != GW_RANK_NONE ||
            run->state != GW_ATTEMPT_SENT)
            break;
        if (!run->actor)
            learn_cost(&run->spec->cost_ns, gw_col64_at(in->run_ns, i));
        run->end = (struct gw_attempt_end){.outcome = GW_OUTCOME_FAILED,
                                           .executing = true,
                                           .code = in->code,
                                           .run_ns = gw_col64_at(in->run_ns, i)};
        const bool successors = run->first_successor;
        if (!core->registered)
            gw_attempt_know_tail(run, in->stderr_tail);
        gw_report_failed(core, run, in->text);
        if (!successors)
            continue;
        tell_failures(core, in, told, i + 1);
        told = i + 1;
        gw_successor_settle(core);
    }
    tell_failures(core, in, told, i);
    if (i < in->attempt.count)
        return GW_EPROTO;
    gw_process_next(core, process);
    return 0;
}
