/* Cancelling tasks and jobs.
 *
 * A task at a worker counts as cancelled only when its worker reports that the attempt has ended,
 * because the slot is not free before. The task is then cancelled whatever outcome the worker
 * reports. */
#include "scheduler/core/lifecycle/cancel.h"

#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"

static uint64_t grace_of(const struct gw_spec *spec, const struct gw_cancel *cancel)
{
    if (cancel->hard)
        return 0;
    /* A closed session needs no long grace period: no client is left to use what a task saves. */
    if (cancel->reason == GW_KILL_SESSION)
        return spec->message.fail_grace_ns ? spec->message.fail_grace_ns : GW_FAIL_GRACE_NS;
    return spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
}

static void kill_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                      const struct gw_cancel *cancel)
{
    uint64_t grace_ns = grace_of(&job->specs.items[job->tasks.spec[row]], cancel);
    struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
    if (gang) {
        struct gw_end end = {
            .outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED, .text = "cancelled"};
        gw_sched_gang_end_kill(sched, gang, &(struct gw_gang_kill){grace_ns, cancel->reason, &end});
        return;
    }
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    gw_sched_outbox_kill(sched, attempt->worker,
                         &(struct gw_kill_row){attempt->id, grace_ns, cancel->reason});
    gw_sched_attempt_kill(sched, slot, cancel->hard);
}

void gw_sched_cancel_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_cancel *cancel)
{
    switch (job->tasks.state[row]) {
    case GW_TASK_WAITING:
    case GW_TASK_READY:
        GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row,
                .state = GW_TASK_CANCELLED, .code = GW_ECANCELLED, .text = "cancelled");
        gw_sched_notify_task(sched, job, row);
        break;
    case GW_TASK_PLACED:
    case GW_TASK_PIPELINED:
        GW_FACT(sched, cancel_wanted, .at = job, .job = job->id, .index = row, .wanted = 1);
        gw_sched_task_cancelling(sched, job, row);
        kill_task(sched, job, row, cancel);
        break;
    case GW_TASK_CANCELLING:
        if (job->tasks.flags[row] & GW_TASK_RERUN) {
            GW_FACT(sched, cancel_wanted, .at = job, .job = job->id, .index = row, .wanted = 1);
            gw_sched_task_rerun(job, row, false);
        }
        if (cancel->hard)
            kill_task(sched, job, row, cancel);
        break;
    default:
        break;
    }
}

/* -- Pure tasks that several jobs share ---------------------------------------------------- */

/* The set of tasks that one cancel request concerns: the requested tasks, followed by all tasks
 * that depend on them. */
struct reach {
    GW_ARRAY(struct gw_row) rows;
    /* This array has a 1 for each task that must go on because other jobs need its result. */
    GW_ARRAY(uint8_t)
    goes_on;
    struct gw_map at;           /* key_of(row) -> index into rows */
    const struct gw_job *whole; /* the job that is cancelled as a whole, or NULL */
};

static uint64_t key_of(const struct gw_row *row)
{
    return row->job->id << 32 | row->index;
}

static void reach_add(struct reach *reach, const struct gw_row *row)
{
    if (gw_sched_task_final(row->job, row->index) || gw_map_get(&reach->at, key_of(row), NULL))
        return;
    GW_MUST(gw_map_put(&reach->at, key_of(row), reach->rows.count));
    GW_MUST(gw_array_push(&reach->rows, *row));
    GW_MUST(gw_array_push(&reach->goes_on, 0));
}

/* Adds the tasks that depend on `row` to the set. Returns true if a pure task of another job
 * shares the result of `row`, so `row` must not be cancelled. */
static bool reach_on(struct gw_sched *sched, struct reach *reach, struct gw_row row)
{
    bool shared = false;
    struct gw_successors from = gw_sched_edge_successors_of(row.job, row.index);
    struct gw_row next, original;
    while (gw_sched_edge_successors_next(sched, &from, &next)) {
        if (!next.job || next.index == GW_INDEX_ALL)
            continue;
        if (!gw_sched_pure_alias_of(sched, next.job, next.index, &original))
            reach_add(reach, &next);
        else if (next.job != reach->whole && !gw_sched_task_final(next.job, next.index))
            shared = true;
    }
    return shared;
}

/* Marks a task of the set as not to be cancelled, together with all tasks of the set that it
 * depends on. */
static void reach_spare(struct gw_sched *sched, struct reach *reach, uint64_t place)
{
    GW_ARRAY(uint64_t) todo = {0};
    GW_MUST(gw_array_push(&todo, place));
    for (size_t i = 0; i < todo.count; i++) {
        struct gw_row row = reach->rows.items[todo.items[i]], dep;
        if (reach->goes_on.items[todo.items[i]])
            continue;
        reach->goes_on.items[todo.items[i]] = 1;
        const struct gw_tasks *tasks = &row.job->tasks;
        for (uint32_t e = tasks->deps_at[row.index]; e < gw_sched_deps_end(tasks, row.index); e++)
            if (gw_sched_dep(sched, row.job, e, &dep) &&
                gw_map_get(&reach->at, key_of(&dep), &place))
                GW_MUST(gw_array_push(&todo, place));
    }
    gw_array_deinit(&todo);
}

/* Returns true if the task depends on a task that is not cancelled. Such a task must be cancelled
 * explicitly, because its dependency does not fail. */
static bool needs_spared(const struct gw_sched *sched, const struct reach *reach, struct gw_row row)
{
    const struct gw_tasks *tasks = &row.job->tasks;
    struct gw_row dep;
    uint64_t place;
    for (uint32_t e = tasks->deps_at[row.index]; e < gw_sched_deps_end(tasks, row.index); e++)
        if (gw_sched_dep(sched, row.job, e, &dep) && gw_map_get(&reach->at, key_of(&dep), &place) &&
            reach->goes_on.items[place])
            return true;
    return false;
}

/* The task goes on running for other jobs. Its own client is still informed that the task was
 * cancelled, because the client asked for that. The client of a detached job is informed of the
 * true end of the task, which is durable. */
static void tell_cancelled(struct gw_sched *sched, struct gw_row row)
{
    struct gw_job *job = row.job;
    uint16_t flags = job->tasks.flags[row.index];
    if (job->detached || !job->session || !(flags & GW_TASK_HELD) || (flags & GW_TASK_TOLD))
        return;
    gw_sched_outbox_failed(sched, job->session->remote,
                           &(struct gw_msg_failed){.request = job->request,
                                                   .index = row.index,
                                                   .code = GW_ECANCELLED,
                                                   .text = "cancelled"});
    gw_sched_task_told(job, row.index, GW_TASK_TOLD | GW_TASK_TOLD_FAILED);
}

/* Cancels the tasks of the set and all tasks that depend on them, except tasks that other jobs
 * share. Frees the set. */
static void reach_cancel(struct gw_sched *sched, struct reach *reach,
                         const struct gw_cancel *cancel)
{
    size_t asked = reach->rows.count;
    for (size_t i = 0; i < reach->rows.count; i++)
        if (reach_on(sched, reach, reach->rows.items[i]))
            reach_spare(sched, reach, i);
    for (size_t i = 0; i < reach->rows.count; i++) {
        struct gw_row row = reach->rows.items[i];
        if (reach->goes_on.items[i])
            tell_cancelled(sched, row);
        else if (i < asked || needs_spared(sched, reach, row))
            gw_sched_cancel_task(sched, row.job, row.index, cancel);
    }
    gw_array_deinit(&reach->rows);
    gw_array_deinit(&reach->goes_on);
    gw_map_deinit(&reach->at);
}

static void cancel_one(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                       const struct gw_cancel *cancel)
{
    struct reach reach = {0};
    if (!gw_job_rare(job)->had_pures) {
        gw_sched_cancel_task(sched, job, row, cancel);
        return;
    }
    reach_add(&reach, &(struct gw_row){job, row});
    reach_cancel(sched, &reach, cancel);
}

void gw_sched_cancel_job(struct gw_sched *sched, struct gw_job *job, const struct gw_cancel *cancel)
{
    struct reach reach = {.whole = job};
    if (job->unfinished == 0)
        return;
    gw_sched_job_cancel(sched, job, cancel);
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (gw_job_rare(job)->had_pures)
            reach_add(&reach, &(struct gw_row){job, row});
        else
            gw_sched_cancel_task(sched, job, row, cancel);
    reach_cancel(sched, &reach, cancel);
    gw_sched_range_stop(sched, job);
}

void gw_sched_cancel_abandon(struct gw_sched *sched, struct gw_job *job,
                             const struct gw_cancel *cancel)
{
    bool cancelled = false;
    /* A range is cancelled as a whole, because no other job can hold or need its tasks. */
    if (job->range) {
        gw_sched_cancel_job(sched, job, cancel);
        return;
    }
    for (uint32_t row = job->tasks.count; row-- > 0 && job->unfinished > 0;) {
        if (gw_sched_task_final(job, row) || job->tasks.users[row] > 0 ||
            gw_sched_task_awaited(sched, job, row))
            continue;
        if (!cancelled)
            gw_sched_job_cancel(sched, job, cancel);
        cancelled = true;
        gw_sched_cancel_task(sched, job, row, cancel);
    }
    /* If the job is paused, resume it: other jobs may still need its tasks, and no client that
     * could resume it is connected. */
    if (job->paused)
        GW_FACT(sched, job_paused, .at = job, .job = job->id, .by = "the end of its client");
}

void gw_sched_cancel_give_up(struct gw_sched *sched, struct gw_job *job,
                             const struct gw_cancel *cancel)
{
    for (uint32_t row = gw_sched_row_next(job, 0); job->held > 0 && row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (job->tasks.flags[row] & GW_TASK_HELD)
            GW_FACT(sched, task_unheld, .at = job, .job = job->id, .index = row);
    gw_sched_cancel_abandon(sched, job, cancel);
}

/* Handles a client that is about to close and does not wait for tasks that go on for others. Sets
 * GW_EAGAIN if such tasks are left. */
static void give_up(struct gw_sched *sched, struct gw_job *job, const struct gw_cancel *cancel,
                    struct gw_error *error)
{
    gw_sched_cancel_give_up(sched, job, cancel);
    for (uint32_t row = gw_sched_row_next(job, 0); job->unfinished > 0 && row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (!gw_sched_task_final(job, row) && job->tasks.state[row] != GW_TASK_CANCELLING) {
            gw_error_set(error, GW_EAGAIN,
                         "other clients or jobs need tasks of job %llu, so these tasks continue",
                         (unsigned long long)job->id);
            return;
        }
}

void gw_sched_on_cancel(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_cancel *message)
{
    struct gw_job *job = gw_sched_job_find(sched, message->job);
    char by[GW_REMOTE_WHO_MAX];
    struct gw_cancel cancel = {message->hard == GW_CANCEL_HARD, GW_KILL_CANCEL, by};
    struct gw_error error = {0};
    uint32_t uid = gw_sched_access_uid(session->remote, job);
    (void)gw_sched_access_who(session->remote, by);
    if (message->index == GW_INDEX_ALL) {
        bool gives_up = message->hard == GW_CANCEL_GIVE_UP && job && job->session == session &&
                        !job->detached && !job->actor;
        if (gives_up)
            give_up(sched, job, &cancel, &error);
        else if (gw_sched_access_job(job, message->job, uid, &error) == 0)
            gw_sched_cancel_job(sched, job, &cancel);
    } else if (job && job->uid == uid && gw_sched_range_is_to_come(job, message->index)) {
        (void)gw_sched_range_cancel_row(sched, job, message->index, &error);
    } else if (gw_sched_access_row(job, message->job, message->index, uid, &error) == 0) {
        if (!gw_sched_task_final(job, message->index))
            gw_sched_event_log_cancel(sched, job, message->index, &cancel);
        cancel_one(sched, job, message->index, &cancel);
    }
    gw_sched_notify_request(sched, session->remote, job,
                            &(struct gw_acknowledgement){.request = message->request}, &error);
}

/* Releases all futures of the job at once. Tasks that have not ended are cancelled. */
static void release_all(struct gw_sched *sched, struct gw_job *job)
{
    gw_sched_cancel_job(sched, job, &(struct gw_cancel){.reason = GW_KILL_CANCEL});
    for (uint32_t row = gw_sched_row_next(job, 0); job->held > 0 && row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (job->tasks.flags[row] & GW_TASK_HELD)
            GW_FACT(sched, task_unheld, .at = job, .job = job->id, .index = row);
    if (gw_sched_range_is_open(job))
        gw_sched_range_close(sched, job);
}

int gw_sched_on_release(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_release *message)
{
    if (message->index.count != message->job.count)
        return GW_EPROTO;
    struct gw_job *job = NULL;
    int rc = 0;
    for (uint32_t i = 0; i < message->job.count && rc == 0; i++) {
        uint64_t id = gw_col64_at(message->job, i);
        uint32_t row = gw_col32_at(message->index, i);
        if (!job || job->id != id)
            job = gw_sched_job_find(sched, id);
        if (job && job->session == session && row == GW_INDEX_ALL)
            release_all(sched, job);
        else if (job && job->session == session && row < job->tasks.count &&
                 (job->tasks.flags[row] & GW_TASK_HELD))
            GW_FACT(sched, task_unheld, .at = job, .job = job->id, .index = row);
        else if (job && job->session == session && job->range)
            rc = gw_sched_range_give_up(sched, job, row);
    }
    return rc;
}
