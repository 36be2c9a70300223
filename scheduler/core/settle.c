/* Settling.
 *
 * When a fact is applied, possible consequences are noted on lists. This file checks each note
 * again, because the state may have changed since, and turns it into a fact or drops it. The order
 * matters: lost results are found before ready tasks, so that no task becomes ready if an input is
 * gone. */
#include "scheduler/core/settle.h"

#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/lifecycle/gate.h"
#include "scheduler/core/lifecycle/job.h"
#include "scheduler/core/lifecycle/range.h"
#include "scheduler/core/lifecycle/retry.h"
#include "scheduler/core/lifecycle/task_end.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/coordination/sync_request.h"
#include "scheduler/core/requests/pending_request.h"
#include "scheduler/core/requests/remote.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>

static void release(struct gw_sched *sched, struct gw_row row)
{
    gw_sched_outbox_release_task(sched, row.job, row.index);
    gw_sched_task_release(sched, row.job, row.index);
}

/* Fails (or cancels) a task because `cause` failed (or was cancelled). */
static void doom(struct gw_sched *sched, struct gw_row row, struct gw_row cause)
{
    bool cancelled = cause.job->tasks.state[cause.index] == GW_TASK_CANCELLED;
    GW_FACT(sched, task_ended, .at = row.job, .job = row.job->id, .index = row.index,
            .state = cancelled ? GW_TASK_CANCELLED : GW_TASK_FAILED, .text = "",
            .cause_job = cause.job->id, .cause_index = cause.index);
    gw_sched_notify_task(sched, row.job, row.index);
}

/* Explains that a scattered value was given up, and by which client. Only that client can provide
 * the value again. */
static void say_scattered(const struct gw_job *job, char text[static 400])
{
    const struct gw_session *session = job->session;
    (void)snprintf(text, 400,
                   "the value that %s%s scattered as job %llu was released: hold its future as "
                   "long as results that depend on it may be computed again, or scatter it again",
                   session ? "client " : "",
                   session ? session->remote->name : "a client that has left",
                   (unsigned long long)job->id);
}

/* Fails a task whose input was released and cannot be computed again: no task of that job can run
 * again, or the input was not made by a task. `edge` is the dependency of the task on that input.
 */
static void doom_unrecoverable(struct gw_sched *sched, struct gw_row row, uint32_t edge)
{
    char label[128], text[GW_ERROR_TEXT_MAX], input_text[400], loss[200] = "";
    const struct gw_tasks *tasks = &row.job->tasks;
    struct gw_row input;
    bool known = gw_sched_dep(sched, row.job, edge, &input);
    uint64_t id = known ? input.job->id : gw_sched_edge(tasks, edge).job;
    const struct gw_spec *spec = known && input.job->specs.count
                                     ? &input.job->specs.items[input.job->tasks.spec[input.index]]
                                     : NULL;
    gw_sched_task_label(row.job, row.index, label, sizeof label);
    if (spec && spec->message.kind == GW_SPEC_VALUE)
        say_scattered(input.job, input_text);
    else
        (void)snprintf(input_text, sizeof input_text,
                       "the result of task %u of job %llu, which it needs again, was released and "
                       "cannot be computed again",
                       input.index, (unsigned long long)id);
    if (sched->lost_worker[0] && sched->lost_worker_ns == sched->now_ns)
        (void)snprintf(loss, sizeof loss, "%.160s; ", sched->lost_worker);
    (void)snprintf(text, sizeof text, "%s (task %u of job %llu): %s%s", label, row.index,
                   (unsigned long long)row.job->id, loss, input_text);
    GW_FACT(sched, task_ended, .at = row.job, .job = row.job->id, .index = row.index,
            .state = GW_TASK_FAILED, .code = GW_ELOST, .text = text);
    gw_sched_notify_task(sched, row.job, row.index);
}

/* Checks the dependencies of a waiting task. Fails the task and returns true if a dependency has
 * failed or cannot be computed again. */
static bool doom_if_needed(struct gw_sched *sched, struct gw_row row)
{
    struct gw_tasks *tasks = &row.job->tasks;
    for (uint32_t e = tasks->deps_at[row.index]; e < gw_sched_deps_end(tasks, row.index); e++) {
        struct gw_row dep;
        bool known = gw_sched_dep(sched, row.job, e, &dep);
        bool data = gw_sched_dep_rank(tasks, e) != GW_DEP_AFTER;
        if (!known && !data)
            continue;
        uint8_t state = known ? dep.job->tasks.state[dep.index] : GW_TASK_RELEASED;
        if (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED) {
            doom(sched, row, dep);
            return true;
        }
        if (state == GW_TASK_RELEASED && data) {
            doom_unrecoverable(sched, row, e);
            return true;
        }
    }
    return false;
}

static void settle_doomed(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->doomed.count; i++) {
        struct gw_row row = sched->doomed.items[i];
        bool waiting = row.job->tasks.state[row.index] == GW_TASK_WAITING;
        /* The task was cancelled before it had a row. */
        if (waiting && (row.job->tasks.flags[row.index] & GW_TASK_CANCELS))
            gw_sched_cancel_task(sched, row.job, row.index,
                                 &(struct gw_cancel){.reason = GW_KILL_CANCEL});
        else if (waiting)
            (void)doom_if_needed(sched, row);
    }
    gw_sched_noted_doomed(sched);
}

/* Returns true if a lost or released result is needed and can be computed again. */
static bool must_make_again(const struct gw_sched *sched, struct gw_row row)
{
    uint8_t state = row.job->tasks.state[row.index];
    const struct gw_spec *spec = &row.job->specs.items[row.job->tasks.spec[row.index]];
    if (row.job->tasks.users[row.index] == 0 || row.job->compacted ||
        spec->message.kind == GW_SPEC_VALUE) /* nothing can compute a scattered value again */
        return false;
    return state == GW_TASK_RELEASED ||
           (state == GW_TASK_DONE && !gw_sched_objects_whole(sched, row.job, row.index) &&
            !gw_sched_adopt_awaits(sched, row.job, row.index));
}

/* Runs a task again whose result was lost. A call of an actor runs again only if the client allowed
 * retries, because the state of the actor has changed. Otherwise the task fails. */
static void make_again(struct gw_sched *sched, struct gw_row row, uint32_t retry)
{
    char label[128], actor[160], text[GW_ERROR_TEXT_MAX];
    gw_sched_retry_reopen(sched, row.job, row.index, retry);
    if (!row.job->calls_of ||
        row.job->specs.items[row.job->tasks.spec[row.index]].message.retries > 0)
        return;
    gw_sched_task_label(row.job, row.index, label, sizeof label);
    gw_sched_actor_label(row.job->calls_of, actor, sizeof actor);
    (void)snprintf(text, sizeof text,
                   "%s (task %u of job %llu): its result was lost with a worker, and a call of %s "
                   "runs only once unless it has retries",
                   label, row.index, (unsigned long long)row.job->id, actor);
    GW_FACT(sched, task_ended, .at = row.job, .job = row.job->id, .index = row.index,
            .state = GW_TASK_FAILED, .code = GW_ELOST, .text = text);
    gw_sched_notify_task(sched, row.job, row.index);
}

static void settle_lost(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->lost.count; i++) {
        struct gw_row row = sched->lost.items[i];
        if (row.job->tasks.users[row.index] == 1 &&
            gw_sched_pure_unretain(sched, row.job, row.index))
            continue; /* only the cache of pure results held it */
        if (must_make_again(sched, row))
            make_again(sched, row, 0);
        else if (row.job->tasks.state[row.index] == GW_TASK_DONE &&
                 row.job->tasks.users[row.index] == 0)
            release(sched, row); /* the job was open: a later chunk might have needed it */
    }
    gw_sched_noted_lost(sched);
}

static void want_again(struct gw_sched *sched, struct gw_row row)
{
    GW_FACT(sched, cancel_wanted, .at = row.job, .job = row.job->id, .index = row.index);
    gw_sched_task_rerun(row.job, row.index, true);
}

static void settle_retried(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->retried.count; i++) {
        struct gw_row row = sched->retried.items[i];
        uint8_t state = row.job->tasks.state[row.index];
        if (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED) {
            gw_sched_shares_retell(sched, row.job, row.index);
            gw_sched_retry_run_again(sched, row.job, row.index, 2);
        } else if (state == GW_TASK_CANCELLING) { /* wait until its worker reports the end */
            want_again(sched, row);
        } else if (must_make_again(sched, row)) {
            make_again(sched, row, 2);
        }
    }
    gw_sched_noted_retried(sched);
}

static void settle_reopened(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->reopened.count; i++) {
        struct gw_row row = sched->reopened.items[i];
        if (row.job->tasks.state[row.index] != GW_TASK_WAITING || doom_if_needed(sched, row))
            continue;
        if (row.job->tasks.waiting[row.index] > 0)
            continue;
        if (row.job->tasks.flags[row.index] & GW_TASK_ALIAS)
            gw_sched_task_end_done(sched, row.job, row.index, &(struct gw_results){0});
        else if (!(row.job->tasks.flags[row.index] & GW_TASK_DELAYED))
            gw_sched_task_make_ready(sched, row.job, row.index);
    }
    gw_sched_noted_reopened(sched);
}

/* Releases results that no task and no future needs any more. */
static void settle_idle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->idle.count; i++) {
        struct gw_row row = sched->idle.items[i];
        bool needed = row.job->tasks.users[row.index] > 0;
        if (row.job->tasks.state[row.index] != GW_TASK_DONE || needed ||
            (row.job->state == GW_JOB_OPEN && row.index >= row.job->stream_rows))
            continue;
        if (gw_sched_object_retain_pure(sched, row.job, row.index))
            continue;
        release(sched, row);
    }
    gw_sched_noted_idle(sched);
}

/* Cancels tasks whose futures were given up, and the tasks that only those needed, because no
 * client would see their end. Calls of actors are not cancelled: they also run for their side
 * effects. */
static void settle_unwanted(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->unwanted.count; i++) {
        struct gw_row row = sched->unwanted.items[i];
        if (row.job->detached || row.job->calls_of ||
            (row.job->state == GW_JOB_OPEN && row.index >= row.job->stream_rows) ||
            gw_sched_task_final(row.job, row.index) || row.job->tasks.users[row.index] > 0)
            continue;
        /* If many tasks depended on a task, it is noted once for each. Only the first note of such
         * a series is handled. */
        uint8_t state = row.job->tasks.state[row.index];
        bool again = i > 0 && sched->unwanted.items[i - 1].job == row.job &&
                     sched->unwanted.items[i - 1].index == row.index;
        bool ending =
            state == GW_TASK_CANCELLING && !(row.job->tasks.flags[row.index] & GW_TASK_RERUN);
        if (again || ending || gw_sched_task_awaited(sched, row.job, row.index))
            continue;
        if (!(row.job->tasks.flags[row.index] & GW_TASK_WAS_DONE))
            gw_sched_cancel_task(sched, row.job, row.index,
                                 &(struct gw_cancel){.reason = GW_KILL_CANCEL});
        else if (state == GW_TASK_WAITING || state == GW_TASK_READY)
            gw_sched_task_unneed(sched, row.job, row.index);
    }
    gw_sched_noted_unwanted(sched);
}

static void settle_lists(struct gw_sched *sched)
{
    do {
        gw_sched_remotes_settle(sched);
        settle_lost(sched);
        settle_retried(sched);
        if (sched->lost.count || sched->retried.count)
            continue;
        gw_sched_actors_settle(sched);
        settle_doomed(sched);
        settle_reopened(sched);
        settle_unwanted(sched);
        settle_idle(sched);
        gw_sched_ranges_settle(sched);
        gw_sched_gates_settle(sched);
        gw_sched_jobs_settle(sched);
        gw_sched_pending_requests_settle(sched);
        gw_sched_actors_on_nameless(sched);
    } while (sched->touched.count || sched->lost.count || sched->retried.count ||
             sched->doomed.count || sched->reopened.count || sched->unwanted.count ||
             sched->idle.count || sched->ending.count || sched->revisited.count ||
             sched->stubs.count || sched->ungated.count || sched->orphaned.count);
}

void gw_sched_settle(struct gw_sched *sched)
{
    do {
        settle_lists(sched);
        gw_sync_request_settle(sched);
        gw_sched_jobs_tidy(sched);
    } while (sched->idle.count);
}
