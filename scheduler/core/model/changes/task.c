/* Changes of state of tasks: they become ready, end, and run again. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/asked.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/delay.h"
#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/gate.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/object.h"
#include "scheduler/core/model/jobs/pure.h"
#include "scheduler/core/model/jobs/range.h"
#include "scheduler/core/model/jobs/scattered.h"
#include "scheduler/core/model/jobs/task.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <assert.h>

static void delay_until(struct gw_sched *sched, struct gw_job *job, uint32_t row, uint64_t due_ns)
{
    struct gw_tasks *tasks = &job->tasks;
    assert(tasks->state[row] == GW_TASK_WAITING);
    tasks->flags[row] |= GW_TASK_DELAYED;
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_DELAYED, .index = row,
                 .try_number = tasks->charges[row].tries, .number = due_ns - sched->now_ns);
    gw_sched_delay_push(sched, &(struct gw_delay){due_ns, job->id, row, tasks->charges[row].tries});
}

void gw_sched_apply_task_delayed(struct gw_sched *sched, const struct gw_fact_task_delayed *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    if (!sched->restoring) {
        delay_until(sched, job, fact->index, sched->now_ns + fact->left_ns);
        return;
    }
    gw_sched_range_catch_up(sched, job, fact->index);
    uint16_t tries = job->tasks.charges[fact->index].tries;
    job->tasks.flags[fact->index] |= GW_TASK_DELAYED; /* until the task ends */
    GW_MUST(gw_array_push(&sched->delays,
                          ((struct gw_delay){fact->wall_ns, job->id, fact->index, tries})));
}

void gw_sched_task_resume_delay(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                                uint64_t due_ns)
{
    struct gw_tasks *tasks = &job->tasks;
    if (tasks->state[index] == GW_TASK_READY) {
        gw_sched_queue_remove(sched, gw_sched_task_ready_queue(sched, job, index), index);
        gw_sm_move(&gw_sched_task_sm, &tasks->state[index], GW_TASK_WAITING);
    }
    delay_until(sched, job, index, due_ns);
}

void gw_sched_tasks_open_gate(struct gw_sched *sched, struct gw_job *job)
{
    struct gw_tasks *tasks = &job->tasks;
    job->gated = false;
    /* A job without jobs before it was gated only until it was on disk. */
    if (!job->gate_failed && gw_job_rare(job)->befores.count)
        GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_OPENED, .index = GW_INDEX_ALL);
    for (uint32_t row = gw_sched_row_next(job, 0); row < tasks->count;
         row = gw_sched_row_next(job, row + 1))
        if (--tasks->waiting[row] == 0 && tasks->state[row] == GW_TASK_WAITING &&
            !(tasks->flags[row] & GW_TASK_DELAYED))
            gw_sched_task_ready(sched, job, row);
}

static void task_unqueue(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    gw_sched_queue_remove(sched, gw_sched_task_ready_queue(sched, job, row), row);
}

void gw_sched_task_make_ready(struct gw_sched *sched, struct gw_job *job, uint32_t index)
{
    gw_sched_task_ready(sched, job, index);
}

void gw_sched_apply_task_charges(struct gw_sched *sched, const struct gw_fact_task_charges *fact)
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
        gw_sched_queue_add(sched, gw_sched_task_ready_queue(sched, job, fact->index), fact->index);
}

static void successor_satisfied(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    assert(job->tasks.waiting[row] > 0);
    if (--job->tasks.waiting[row] > 0)
        return;
    bool delayed = (job->tasks.flags[row] & GW_TASK_DELAYED) != 0;
    if (job->tasks.state[row] == GW_TASK_WAITING && !delayed)
        gw_sched_task_ready(sched, job, row);
    else if (job->tasks.state[row] == GW_TASK_PIPELINED)
        gw_sched_pipelined_task_complete(sched, job, row);
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

/* Moves a task to the state that the end requires. Durable facts say how a task ended, but not that
 * it was ready and placed before. A scattered value was never ready or placed. */
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
        failure = gw_sched_task_failure_of(cause, fact->cause_index);
    if (failure) {
        failure->refs++;
        uint16_t flags = GW_TASK_DEPENDENT;
        if (job->tasks.flags[fact->index] & GW_TASK_ALIAS) /* it fails as its original did */
            flags &= cause->tasks.flags[fact->cause_index];
        job->tasks.flags[fact->index] |= flags;
    } else if (job->cancelled_failure && fact->state == GW_TASK_CANCELLED && fact->attempt == 0) {
        /* All cancelled tasks that never ran share one failure. */
        failure = job->cancelled_failure;
        failure->refs++;
    } else {
        failure = gw_sched_task_failure_new(fact->code, fact->text);
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
        gw_sched_gang_asked_drop(job, row);
    tasks->flags[row] &= (uint16_t) ~(GW_TASK_STARTED | GW_TASK_DELAYED | GW_TASK_CANCELS);
    job->unfinished--;
    sched->tally.unfinished--;
    if (fact->state == GW_TASK_DONE) {
        if (sched->restoring) /* workers name the result by this attempt */
            tasks->attempt[row] = fact->attempt;
        job->done++;
        sched->tally.done++;
        tasks->flags[row] |= GW_TASK_WAS_DONE;
        gw_sched_objects_add(sched, job, row, &fact->results);
        gw_sched_edge_successors(sched, job, row, successor_satisfied);
        if (tasks->users[row] == 0)
            GW_MUST(gw_array_push(&sched->idle, (struct gw_row){job, row}));
    } else {
        *(fact->state == GW_TASK_FAILED ? &job->failed : &job->cancelled_tasks) += 1;
        *(fact->state == GW_TASK_FAILED ? &sched->tally.failed : &sched->tally.cancelled) += 1;
        gw_sched_pure_forget(sched, job, row);
        task_fail(sched, job, fact);
        gw_sched_edge_successors(sched, job, row, successor_doomed);
    }
    gw_sched_event_log_task_ended(sched, job, fact);
    gw_sched_task_unuse(sched, job, row);
    gw_sched_range_row_ended(sched, job, row);
    if (job->unfinished == 0 && job->state == GW_JOB_RUNNING)
        GW_MUST(gw_array_push(&sched->ending, job));
    if (job->pending_requests)
        GW_MUST(gw_array_push(&sched->revisited, job->id));
}

void gw_sched_task_scatter(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_result *result)
{
    task_catch_up(sched, job, 0, GW_TASK_DONE);
    sched->values++;
    gw_sched_apply_task_ended(
        sched, &(struct gw_fact_task_ended){
                   .at = job, .job = job->id, .state = GW_TASK_DONE, .results = {result, 1}});
    gw_sched_scattered_add(sched, job, &sched->objects.items[job->tasks.object[0]]);
}

/* Marks the inputs of a task that are gone as lost, so that they are computed again. `users` was
 * already incremented. */
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

/* Runs an alias again if its original runs again. */
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
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_AGAIN, .index = row, .detail = (uint8_t)fact->retry);
    gw_sched_range_row_reopened(job, row);
    if (state == GW_TASK_DONE || state == GW_TASK_RELEASED) {
        job->done--;
        sched->tally.done--;
        gw_sched_objects_drop(sched, job, row);
        gw_sched_edge_successors(sched, job, row, successor_unsatisfied);
    } else {
        *(state == GW_TASK_FAILED ? &job->failed : &job->cancelled_tasks) -= 1;
        *(state == GW_TASK_FAILED ? &sched->tally.failed : &sched->tally.cancelled) -= 1;
        struct gw_failure *failure = gw_sched_task_failure_of(job, row);
        (void)gw_map_remove(&job->failures, row);
        bool first = job->first_failure == failure;
        gw_sched_task_failure_unref(failure);
        if (first) {
            gw_sched_task_failure_unref(job->first_failure);
            job->first_failure = NULL;
        }
        tasks->flags[row] &= (uint16_t)~GW_TASK_DEPENDENT;
        gw_sched_edge_successors(sched, job, row, alias_retried);
    }
    gw_sm_move(&gw_sched_task_sm, &tasks->state[row], GW_TASK_WAITING);
    gw_sched_actor_row_wanted(sched, job, 1);
    job->unfinished++;
    sched->tally.unfinished++;
    tasks->flags[row] |= GW_TASK_AGAIN;
    /* The new end of the task is announced again. */
    bool told_failed = tasks->flags[row] & GW_TASK_TOLD_FAILED;
    if (fact->retry == 1 || (fact->retry && told_failed))
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

/* Handles a task that was done, was to run again, and is not needed any more: it becomes released
 * again. */
void gw_sched_task_unneed(struct gw_sched *sched, struct gw_job *job, uint32_t index)
{
    if (job->tasks.state[index] == GW_TASK_READY)
        task_unqueue(sched, job, index);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[index], GW_TASK_RELEASED);
    job->tasks.flags[index] &= (uint16_t)~GW_TASK_DELAYED;
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_UNNEEDED, .index = index);
    gw_sched_pure_forget(sched, job, index);
    gw_sched_actor_row_wanted(sched, job, -1);
    job->unfinished--;
    job->done++;
    sched->tally.unfinished--;
    sched->tally.done++;
    gw_sched_edge_successors(sched, job, index, successor_satisfied);
    gw_sched_task_unuse(sched, job, index);
    gw_sched_range_row_ended(sched, job, index);
    if (job->unfinished == 0 && job->state == GW_JOB_RUNNING)
        GW_MUST(gw_array_push(&sched->ending, job));
    if (job->pending_requests)
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
    bool last = tasks->users[fact->index] == 0;
    if (last && tasks->state[fact->index] == GW_TASK_DONE)
        GW_MUST(gw_array_push(&sched->idle, row));
    if (!gw_sched_task_final(job, fact->index))
        GW_MUST(gw_array_push(&sched->unwanted, row));
    gw_sched_range_row_closed(sched, job, fact->index);
    if (job->held == 0 && job->retained)
        gw_sched_job_ended_revisit(sched, job);
    if (job->calls_of && job->held == 0 && job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, job->id));
}

void gw_sched_task_release(struct gw_sched *sched, struct gw_job *job, uint32_t index)
{
    gw_sched_objects_drop(sched, job, index);
    gw_sched_pure_forget(sched, job, index);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[index], GW_TASK_RELEASED);
    GW_LOG_EVENT_USUAL(sched, job, .kind = GW_LOGGED_RELEASED, .index = index);
    gw_sched_range_row_closed(sched, job, index);
    if (job->objects == 0 && job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, job->id));
}

void gw_sched_pipelined_task_complete(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    assert(attempt->pipelined);
    attempt->pipelined = false;
    attempt->lane->barren = false;
    gw_sched_worker_queue_completed(sched, attempt->lane);
    gw_sm_move(&gw_sched_task_sm, &job->tasks.state[row], GW_TASK_PLACED);
    attempt->fetches = gw_sched_object_inputs_fetch(sched, job, row, attempt->worker);
}
