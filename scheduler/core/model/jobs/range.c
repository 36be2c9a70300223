/* Ranges.
 *
 * The rows of a range are created in order, a few at a time: when almost no created row is left to
 * place, and only as long as the limits for unfinished rows (limit) and for rows with untaken
 * results (ahead) allow it. A row is closed when it has ended and its result cannot be requested
 * any more. A block whose rows are all closed is freed, and its rows read as retired.
 *
 * Invariants: live is the number of created rows that have not ended. kept is the number of created
 * rows that are not closed, and block_open counts these for each block. While more rows will be
 * created, the range itself counts as a user of its inputs.
 *
 * A row that is given up before its creation is recorded in given_up. It is created when its turn
 * comes, but its result is not held. A row that is cancelled before its creation is recorded in
 * `cancelled`, and ends as soon as it is created. Failed rows are reopened only for detached jobs,
 * because nobody could request the results otherwise. */
#include "scheduler/core/model/jobs/range.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/gate.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/task.h"

#include <stdlib.h>
#include <string.h>

uint32_t gw_sched_range_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* -- Creation --------------------------------------------------------------------------------- */

static void list_hungry(struct gw_sched *sched, struct gw_job *job)
{
    if (job->range->hungry)
        return;
    job->range->hungry = true;
    GW_MUST(gw_array_push(&sched->hungry, job->id));
}

/* Adds or removes the range itself as a user of its inputs. */
void gw_sched_range_use_inputs(struct gw_sched *sched, struct gw_job *job, bool use)
{
    struct gw_tasks *tasks = &job->tasks;
    if (job->range->feeding == use)
        return;
    job->range->feeding = use;
    for (uint32_t e = 0; e < tasks->edges; e++) {
        struct gw_row dep;
        if (!gw_sched_dep(sched, job, e, &dep))
            continue;
        bool data = gw_sched_dep_rank(tasks, e) != GW_DEP_AFTER;
        if (data && use) {
            dep.job->tasks.users[dep.index]++;
            dep.job->needed++;
        } else if (data) {
            dep.job->needed--;
            if (--dep.job->tasks.users[dep.index] == 0 &&
                dep.job->tasks.state[dep.index] == GW_TASK_DONE)
                GW_MUST(gw_array_push(&sched->idle, dep));
        }
        if (!use && !gw_sched_task_final(dep.job, dep.index))
            GW_MUST(gw_array_push(&sched->unwanted, dep));
    }
}

static void add_edges(struct gw_sched *sched, struct gw_job *job, const struct gw_msg_range *range)
{
    for (uint32_t i = 0; i < range->dep_job.count; i++) {
        const struct gw_edge edge = {gw_col64_at(range->dep_job, i),
                                     gw_col32_at(range->dep_index, i),
                                     gw_col32_at(range->dep_rank, i)};
        struct gw_row dep = gw_sched_edge_add(sched, job, 0, &edge);
        gw_sched_edge_later_add(dep.job, dep.index, job->id, GW_INDEX_ALL);
    }
    gw_sched_range_use_inputs(sched, job, true);
}

void gw_sched_range_add(struct gw_sched *sched, struct gw_job *job,
                        const struct gw_msg_range *message)
{
    const struct gw_spec *spec = &job->specs.items[0];
    struct gw_range *range = calloc(1, sizeof *range);
    GW_MUST_PTR(range);
    *range = (struct gw_range){
        .begin = message->begin,
        .step = message->step,
        .count = message->count,
        .limit = message->limit ? message->limit : UINT32_MAX,
        .ahead = UINT32_MAX,
        .block = sched->options.range_block ? sched->options.range_block : GW_RANGE_BLOCK,
        .args_size = message->args.size,
        .index_at = message->index_at,
        .results = (message->flags & GW_RANGE_RESULTS) != 0,
        .stop = (message->flags & GW_RANGE_STOP) != 0,
        /* Rows of commands are not freed, because requests for their output need to know where they
         * ran. */
        .retires = spec->message.kind == GW_SPEC_FUNCTION,
    };
    if (range->results)
        range->ahead = message->ahead ? message->ahead : GW_RANGE_AHEAD;
    range->block_open = calloc(range->count / range->block + 1, sizeof *range->block_open);
    GW_MUST_PTR(range->block_open);
    range->args = malloc(range->args_size);
    GW_MUST_PTR(range->args);
    memcpy(range->args, message->args.data, range->args_size);
    job->range = range;
    job->unfinished += range->count;
    sched->tally.unfinished += range->count;
    job->tasks.shared_deps = true;
    gw_sched_job_name(job, message->name);
    if (range->count <= GW_RANGE_BLOCK)
        gw_sched_tasks_reserve(&job->tasks, range->count, message->dep_job.count);
    else {
        GW_MUST(gw_sched_tasks_map(&job->tasks, range->count) ? 0 : GW_ENOMEM);
        gw_sched_tasks_reserve(&job->tasks, 0, message->dep_job.count);
    }
    add_edges(sched, job, message);
    list_hungry(sched, job);
}

void gw_sched_range_free(struct gw_job *job)
{
    if (!job->range)
        return;
    free(job->range->block_open);
    free(job->range->args);
    gw_spans_deinit(&job->range->given_up);
    gw_spans_deinit(&job->range->cancelled);
    free(job->range);
    job->range = NULL;
}

/* -- Creating rows ---------------------------------------------------------------------------- */

int gw_sched_range_give_up(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (!gw_sched_range_grows(job) || row < job->tasks.count || row >= job->range->count ||
        !job->range->results)
        return 0;
    if (!gw_spans_fits(&job->range->given_up, row, GW_RANGE_GIVEN_UP_MAX))
        return GW_EPROTO;
    gw_spans_add(&job->range->given_up, row);
    return 0;
}

int gw_sched_range_cancel_row(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_error *error)
{
    if (!gw_spans_fits(&job->range->cancelled, row, GW_RANGE_GIVEN_UP_MAX))
        return gw_error_set(
            error, GW_ELIMIT,
            "%d tasks of job %llu were cancelled one by one before they began, and that is the "
            "most: wait until some of them have ended, or cancel the whole job",
            GW_RANGE_GIVEN_UP_MAX, (unsigned long long)job->id);
    GW_FACT(sched, range_cancelled, .at = job, .job = job->id, .index = row);
    return 0;
}

void gw_sched_apply_range_cancelled(struct gw_sched *sched,
                                    const struct gw_fact_range_cancelled *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    gw_spans_add(&job->range->cancelled, fact->index);
}

void gw_sched_range_args(const struct gw_job *job, uint32_t row, uint8_t *args)
{
    const struct gw_range *range = job->range;
    if (!range)
        return;
    uint64_t number = (uint64_t)range->begin + row * (uint64_t)range->step; /* cannot overflow */
    for (uint32_t i = 0; i < 8; i++)
        args[range->index_at + 1 + i] = (uint8_t)(number >> (56 - 8 * i));
}

/* -- End of rows ------------------------------------------------------------------------------ */

void gw_sched_range_row_placed(struct gw_sched *sched, struct gw_job *job)
{
    if (job->range)
        list_hungry(sched, job);
}

void gw_sched_range_row_ended(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_range *range = job->range;
    if (!range)
        return;
    uint8_t state = job->tasks.state[row];
    sched->freed = sched->freed || range->live > range->limit; /* one more row may be placed */
    range->live--;
    if ((range->stop && state == GW_TASK_FAILED) || (job->tasks.flags[row] & GW_TASK_DEPENDENT))
        range->failed = true; /* an input is missing, so no row can run */
    list_hungry(sched, job);
    gw_sched_range_row_closed(sched, job, row);
}

void gw_sched_range_row_reopened(struct gw_job *job, uint32_t row)
{
    struct gw_range *range = job->range;
    if (!range)
        return;
    range->live++;
    if (!(job->tasks.flags[row] & GW_TASK_CLOSED))
        return;
    job->tasks.flags[row] &= (uint16_t)~GW_TASK_CLOSED;
    range->open_rows++;
    range->block_open[row / range->block]++;
}

void gw_sched_range_row_closed(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    struct gw_range *range = job->range;
    uint8_t state = job->tasks.state[row];
    if (!range || (job->tasks.flags[row] & (GW_TASK_HELD | GW_TASK_CLOSED)) ||
        (state != GW_TASK_RELEASED && state != GW_TASK_FAILED && state != GW_TASK_CANCELLED))
        return;
    job->tasks.flags[row] |= GW_TASK_CLOSED;
    range->open_rows--;
    list_hungry(sched, job);
    uint32_t block = row / range->block;
    if (--range->block_open[block] == 0 && range->retires)
        GW_MUST(gw_array_push(&sched->stubs, ((struct gw_stub){job->id, block})));
}

/* Counts a task of the range that is freed. Drops the text of its failure if the texts of enough
 * other tasks are kept. */
static void retire_row(struct gw_job *job, uint32_t row)
{
    struct gw_range *range = job->range;
    uint8_t *state = &job->tasks.state[row];
    range->retired_done += *state == GW_TASK_RELEASED;
    range->retired_failed += *state == GW_TASK_FAILED;
    range->retired_cancelled += *state == GW_TASK_CANCELLED;
    if (*state != GW_TASK_RELEASED && job->failures.count > GW_RANGE_FAILURES_MAX) {
        struct gw_failure *failure = gw_sched_task_failure_of(job, row);
        (void)gw_map_remove(&job->failures, row);
        gw_sched_task_failure_unref(failure);
    }
    gw_sm_move(&gw_sched_task_sm, state, GW_TASK_RETIRED);
}

void gw_sched_range_retire(struct gw_job *job, uint32_t block)
{
    struct gw_range *range = job->range;
    uint32_t first = block * range->block;
    uint32_t end = gw_sched_range_least(first + range->block, job->tasks.count);
    for (uint32_t row = first; row < end; row++)
        retire_row(job, row);
    if (job->tasks.forgets)
        gw_sched_tasks_forget(&job->tasks, first,
                              gw_sched_range_least(range->block, job->tasks.capacity - first));
    while (range->low * range->block < job->tasks.count &&
           job->tasks.state[range->low * range->block] == GW_TASK_RETIRED)
        range->low++;
}

void gw_sched_range_close(struct gw_sched *sched, struct gw_job *job)
{
    job->range->closed = true;
    GW_MUST(gw_array_push(&sched->aging, job->id));
}

/* Continues a range that had ended early: its remaining tasks are created. */
void gw_sched_apply_range_resumed(struct gw_sched *sched, const struct gw_fact_range_resumed *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_range *range = job->range;
    uint32_t rows = range->count - job->tasks.count;
    range->ended = range->failed = false;
    gw_spans_deinit(&range->cancelled);
    job->cancelled_tasks -= rows;
    job->unfinished += rows;
    sched->tally.cancelled -= rows;
    sched->tally.unfinished += rows;
    if (job->first_failure && job->first_failure->code == GW_ECANCELLED && job->failed == 0) {
        gw_sched_task_failure_unref(job->first_failure); /* a new one is chosen at the end */
        job->first_failure = NULL;
    }
    if (job->state == GW_JOB_ENDED) {
        gw_sched_job_reopen(sched, job);
        gw_sched_gates_close(sched, job);
    }
    gw_sched_range_use_inputs(sched, job, true);
    for (uint32_t e = 0; e < job->tasks.edges; e++) {
        struct gw_row dep;
        if (gw_sched_dep(sched, job, e, &dep) && !dep.job->compacted)
            GW_MUST(gw_array_push(&sched->retried, dep));
    }
    list_hungry(sched, job);
}

uint32_t gw_sched_range_row_state(const struct gw_job *job, uint32_t row)
{
    if (row >= job->tasks.count)
        return job->range->ended || gw_spans_has(&job->range->cancelled, row) ? GW_TASK_CANCELLED
                                                                              : GW_TASK_WAITING;
    if (job->tasks.state[row] != GW_TASK_RETIRED)
        return job->tasks.state[row];
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    if (!failure)
        return GW_TASK_DONE;
    return failure->code == GW_ECANCELLED ? GW_TASK_CANCELLED : GW_TASK_FAILED;
}
