/* Creates and stops rows of ranges. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/range.h"
#include "scheduler/core/model/jobs/task.h"
#include <assert.h>

void gw_sched_range_catch_up(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (job->range && row >= job->tasks.count)
        gw_sched_range_grow(sched, job, row + 1 - job->tasks.count);
}

void gw_sched_range_stop(struct gw_sched *sched, struct gw_job *job)
{
    if (gw_sched_range_grows(job))
        GW_FACT(sched, range_stopped, .at = job, .job = job->id, .made = job->tasks.count);
}

void gw_sched_apply_range_stopped(struct gw_sched *sched, const struct gw_fact_range_stopped *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_range *range = job->range;
    if (fact->made > 0)
        gw_sched_range_catch_up(sched, job, fact->made - 1);
    uint32_t rows = range->count - job->tasks.count;
    range->ended = true;
    job->cancelled_tasks += rows;
    job->unfinished -= rows;
    sched->tally.cancelled += rows;
    sched->tally.unfinished -= rows;
    gw_sched_range_use_inputs(sched, job, false);
    if (!job->first_failure)
        job->first_failure = gw_sched_task_failure_new(GW_ECANCELLED, "cancelled");
    if (job->unfinished == 0 && job->state == GW_JOB_RUNNING)
        GW_MUST(gw_array_push(&sched->ending, job));
}

/* Counts the unsatisfied dependencies of each new task. Sets *doomed if one of them has failed, so
 * that the tasks can never run. */
static uint32_t inputs_missing(struct gw_sched *sched, struct gw_job *job, bool *doomed)
{
    uint32_t missing = 0;
    for (uint32_t e = 0; e < job->tasks.edges; e++) {
        struct gw_row dep;
        if (!gw_sched_dep(sched, job, e, &dep))
            continue;
        uint8_t state = dep.job->tasks.state[dep.index];
        missing += !gw_sched_task_satisfied(dep.job, dep.index);
        *doomed = *doomed || state == GW_TASK_FAILED || state == GW_TASK_CANCELLED;
    }
    return missing;
}

static void make_row(struct gw_sched *sched, struct gw_job *job, uint32_t waiting)
{
    struct gw_tasks *tasks = &job->tasks;
    struct gw_range *range = job->range;
    uint32_t row = tasks->count++;
    bool cancelled = gw_spans_has(&range->cancelled, row);
    bool held = range->results && !gw_spans_has(&range->given_up, row);
    tasks->state[row] = GW_TASK_WAITING;
    tasks->attempt[row] = 0;
    tasks->args[row] = range->args;
    tasks->args_size[row] = range->args_size;
    tasks->charges[row] = (struct gw_charges){0};
    tasks->spec[row] = tasks->deps_at[row] = tasks->worker[row] = 0;
    tasks->succ[row] = tasks->object[row] = GW_NO_INDEX;
    tasks->waiting[row] = waiting;
    tasks->users[row] = held;
    tasks->flags[row] = (range->results ? GW_TASK_TARGET : 0) | (held ? GW_TASK_HELD : 0) |
                        (cancelled ? GW_TASK_CANCELS : 0);
    job->held += held;
    if (range->results && !held)
        GW_MUST(gw_array_push(&sched->unwanted, ((struct gw_row){job, row})));
    range->live++;
    range->open_rows++;
    range->block_open[row / range->block]++;
    if (tasks->edges)
        gw_sched_task_use(sched, job, row);
    if (cancelled)
        GW_MUST(gw_array_push(&sched->doomed, ((struct gw_row){job, row})));
    else if (waiting == 0)
        gw_sched_task_ready(sched, job, row);
}

void gw_sched_range_grow(struct gw_sched *sched, struct gw_job *job, uint32_t rows)
{
    bool doomed = false;
    uint32_t waiting = inputs_missing(sched, job, &doomed) + job->gated;
    assert(rows <= job->range->count - job->tasks.count);
    for (uint32_t i = 0; i < rows; i++) {
        if (doomed)
            GW_MUST(gw_array_push(&sched->doomed, ((struct gw_row){job, job->tasks.count})));
        make_row(sched, job, waiting);
    }
    gw_spans_drop(&job->range->given_up, job->tasks.count);
    gw_spans_drop(&job->range->cancelled, job->tasks.count);
    if (job->gate_failed)
        GW_MUST(gw_array_push(&sched->ungated, job->id));
    if (job->tasks.count == job->range->count)
        gw_sched_range_use_inputs(sched, job, false);
}
