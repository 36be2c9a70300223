/* Jobs.
 *
 * A job is open while its chunks come, runs until its last task has ended, and stays listed after
 * that. Its tables are freed whole: first what only running again would need (compacted), at last
 * all of it (forgotten). Neither happens while somebody holds or needs a result. */
#include "scheduler/core/job.h"

#include "scheduler/core/actor.h"
#include "scheduler/core/announce.h"
#include "scheduler/core/gate.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/judged.h"
#include "scheduler/core/object.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/pure.h"
#include "scheduler/core/question.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/range.h"
#include "scheduler/core/settle.h"
#include "scheduler/core/share.h"
#include "scheduler/core/story.h"
#include "scheduler/core/submission.h"
#include "scheduler/core/task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state job_states[] = {
    [GW_JOB_OPEN] = {"open", GW_SM_NEXT(GW_JOB_RUNNING)},
    [GW_JOB_RUNNING] = {"running", GW_SM_NEXT(GW_JOB_ENDED)},
    [GW_JOB_ENDED] = {"ended", GW_SM_NEXT(GW_JOB_RUNNING)},
};
struct gw_sm gw_sched_job_sm = {"job", job_states, sizeof job_states / sizeof *job_states, NULL};

struct gw_job *gw_sched_job_find(const struct gw_sched *sched, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&sched->jobs, id, &value) ? (struct gw_job *)(uintptr_t)value : NULL;
}

/* -- Birth ---------------------------------------------------------------------------------------
 */

struct gw_job *gw_sched_job_open(struct gw_sched *sched, struct gw_session *session,
                                 uint64_t request)
{
    if (sched->next_job + GW_JOB_IDS_BLOCK / 2 >= sched->job_ids_upto)
        GW_FACT(sched, job_ids, .upto = sched->job_ids_upto + GW_JOB_IDS_BLOCK);
    uint64_t id = sched->next_job;
    GW_FACT(sched, job_opened, .job = id, .session = session, .request = request);
    return gw_sched_job_find(sched, id);
}

void gw_sched_apply_job_ids(struct gw_sched *sched, const struct gw_fact_job_ids *fact)
{
    sched->job_ids_upto = fact->upto;
}

static struct gw_job *job_new(struct gw_sched *sched, uint64_t id)
{
    struct gw_job *job = calloc(1, sizeof *job);
    GW_MUST_PTR(job);
    job->id = job->age = id;
    struct gw_job *before = sched->last_job;
    while (before && before->id > id) /* restored in the order in which jobs were accepted */
        before = before->prev;
    job->prev = before;
    job->next = before ? before->next : sched->first_job;
    *(before ? &before->next : &sched->first_job) = job;
    *(job->next ? &job->next->prev : &sched->last_job) = job;
    job->opened_ns = sched->restoring ? 0 : sched->now_ns;
    job->story_from = sched->story.told;
    sched->job_count++;
    sched->unended_jobs++;
    if (id >= sched->next_job)
        sched->next_job = id + 1;
    GW_MUST(gw_map_put(&sched->jobs, id, (uintptr_t)job));
    return job;
}

void gw_sched_apply_job_opened(struct gw_sched *sched, const struct gw_fact_job_opened *fact)
{
    struct gw_job *job = job_new(sched, fact->job);
    struct gw_session *session = fact->session;
    job->session = session;
    job->request = fact->request;
    job->uid = session->remote->uid;
    if (session->age) {
        job->age = session->age;
        job->depth = session->depth;
    }
    job->user = strdup(session->remote->name);
    GW_MUST_PTR(job->user);
    job->session_next = session->jobs;
    if (session->jobs)
        session->jobs->session_prev = job;
    session->jobs = job;
    GW_MUST(gw_map_put(&session->requests, fact->request, (uintptr_t)job));
}

void gw_sched_job_name(struct gw_job *job, const char *name)
{
    if (job->name)
        return;
    if ((!name || !*name) && job->specs.count)
        name = job->specs.items[0].message.function;
    job->name = strdup(name && *name ? name : "job");
    GW_MUST_PTR(job->name);
}

void gw_sched_job_seal(struct gw_sched *sched, struct gw_job *job, uint64_t wall_ns)
{
    gw_sm_move(&gw_sched_job_sm, &job->state, GW_JOB_RUNNING);
    job->submitted_wall_ns = wall_ns;
    if (job->session)
        (void)gw_map_remove(&job->session->requests, job->request);
    if (job->unfinished == 0)
        GW_MUST(gw_array_push(&sched->ending, job));
    if (job->gate_failed)
        GW_MUST(gw_array_push(&sched->ungated, job->id));
    /* Until now a row to come might have needed them. */
    for (uint32_t row = job->stream_rows; row < job->tasks.count; row++)
        if (job->tasks.state[row] == GW_TASK_DONE && job->tasks.users[row] == 0)
            GW_MUST(gw_array_push(&sched->idle, (struct gw_row){job, row}));
}

void gw_sched_apply_job_sealed(struct gw_sched *sched, const struct gw_fact_job_sealed *fact)
{
    gw_sched_job_seal(sched, fact->job, fact->wall_ns);
}

/* A detached job's messages wait here, as frames, until the last one is in. */
void gw_sched_apply_job_kept(struct gw_sched *sched, const struct gw_fact_job_kept *fact)
{
    (void)sched;
    fact->job->detached = true;
    GW_MUST(gw_message_encode(fact->message, 0, &gw_job_rare_make(fact->job)->content));
}

void gw_sched_apply_job_accepted(struct gw_sched *sched, const struct gw_fact_job_accepted *fact)
{
    struct gw_job *job = fact->at;
    if (!job) {
        job = job_new(sched, fact->job);
        job->uid = fact->uid;
        job->user = strdup(fact->user);
        GW_MUST_PTR(job->user);
        job->detached = true;
    }
    int rc = gw_sched_content_replay(sched, job, fact->content);
    assert(rc == 0); /* it was validated before it was accepted */
    gw_sched_job_seal(sched, job, fact->wall_ns);
}

void gw_sched_apply_job_cancelled(struct gw_sched *sched, const struct gw_fact_job_cancelled *fact)
{
    fact->job->cancelled = true;
    gw_sched_story_cancel(sched, fact->job, GW_INDEX_ALL, fact->cancel);
}

void gw_sched_job_leave_session(struct gw_job *job)
{
    struct gw_session *session = job->session;
    if (!session)
        return;
    if (job->session_prev)
        job->session_prev->session_next = job->session_next;
    else
        session->jobs = job->session_next;
    if (job->session_next)
        job->session_next->session_prev = job->session_prev;
    uint64_t at;
    if (gw_map_get(&session->requests, job->request, &at) && (struct gw_job *)(uintptr_t)at == job)
        (void)gw_map_remove(&session->requests, job->request);
    job->session = NULL;
    job->session_prev = job->session_next = NULL;
}

/* -- End -----------------------------------------------------------------------------------------
 */

bool gw_sched_job_is_value(const struct gw_job *job)
{
    return job->specs.count && job->specs.items[0].message.kind == GW_SPEC_VALUE;
}

static void ended_link(struct gw_sched *sched, struct gw_job *job)
{
    job->ended_prev = sched->last_ended;
    job->ended_next = NULL;
    if (sched->last_ended)
        sched->last_ended->ended_next = job;
    else
        sched->first_ended = job;
    sched->last_ended = job;
    sched->ended_jobs++;
    job->weight = job->tasks.forgets ? 1 : job->tasks.count; /* its table shrinks by itself */
    sched->ended_tasks += job->weight;
}

/* The first failure was retried, and others were not. */
static void find_failure(struct gw_job *job)
{
    size_t at = 0;
    uint64_t row, value, first = UINT64_MAX;
    if (job->first_failure || job->failed + job->cancelled_tasks == 0)
        return;
    while (gw_map_next(&job->failures, &at, &row, &value))
        first = row < first ? row : first;
    struct gw_failure *failure = first < UINT64_MAX
                                     ? gw_sched_failure_of(job, (uint32_t)first)
                                     : gw_sched_failure_new(GW_ECANCELLED, "cancelled");
    failure->refs += first < UINT64_MAX;
    job->first_failure = failure;
}

void gw_sched_apply_job_ended(struct gw_sched *sched, const struct gw_fact_job_ended *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    gw_sm_move(&gw_sched_job_sm, &job->state, GW_JOB_ENDED);
    find_failure(job);
    job->ended_wall_ns = fact->wall_ns;
    job->ended_number = job->detached ? sched->facts + 1 : 0;
    if (!gw_sched_job_is_value(job))
        ended_link(sched, job);
    gw_sched_gates_on_ended(sched, job);
    if (--sched->unended_jobs == 0)
        sched->idle_since_ns = sched->now_ns;
    if (job->questions)
        GW_MUST(gw_array_push(&sched->revisited, job->id));
    GW_MUST(gw_array_push(&sched->aging, job->id));
}

static void ended_unlink(struct gw_sched *sched, struct gw_job *job)
{
    if (gw_sched_job_is_value(job))
        return;
    if (job->ended_prev)
        job->ended_prev->ended_next = job->ended_next;
    else
        sched->first_ended = job->ended_next;
    if (job->ended_next)
        job->ended_next->ended_prev = job->ended_prev;
    else
        sched->last_ended = job->ended_prev;
    sched->ended_jobs--;
    sched->ended_tasks -= job->weight;
}

void gw_sched_job_reopen(struct gw_sched *sched, struct gw_job *job)
{
    ended_unlink(sched, job);
    gw_sm_move(&gw_sched_job_sm, &job->state, GW_JOB_RUNNING);
    job->ended_number = 0;
    job->ended_wall_ns = 0;
    sched->unended_jobs++;
}

bool gw_sched_job_shown_ended(const struct gw_sched *sched, const struct gw_job *job)
{
    return job->state == GW_JOB_ENDED && job->ended_number <= sched->committed;
}

/* Its tasks will not run again: what they took need not be made again for them. */
static void return_borrowed(struct gw_sched *sched, struct gw_job *job)
{
    const struct gw_tasks *tasks = &job->tasks;
    for (size_t i = 0; i < tasks->far.count; i++) {
        uint64_t id = tasks->far.items[i].job;
        struct gw_job *of = id ? gw_sched_job_find(sched, id) : NULL;
        if (of && --of->borrowers == 0)
            GW_MUST(gw_array_push(&sched->aging, of->id));
    }
}

/* Frees what is needed only to run a task of it again. */
void gw_sched_apply_job_compacted(struct gw_sched *sched, const struct gw_fact_job_compacted *fact)
{
    struct gw_job *job = fact->job;
    assert(job->objects == 0 && job->unfinished == 0);
    return_borrowed(sched, job);
    gw_sched_tasks_compact(&job->tasks);
    for (size_t i = 0; i < job->blobs.count; i++)
        free(job->blobs.items[i]);
    gw_array_deinit(&job->blobs);
    for (size_t i = 0; i < job->queues.count; i++)
        gw_sched_queue_free(sched, job->queues.items[i]);
    gw_array_deinit(&job->queues);
    for (size_t i = 0; i < job->specs.count && job->specs.capacity; i++)
        job->specs.items[i].queue = NULL;
    job->compacted = true;
}

void gw_sched_job_free(struct gw_sched *sched, struct gw_job *job)
{
    return_borrowed(sched, job);
    gw_sched_shares_free(sched, job);
    gw_sched_pure_free(sched, job);
    gw_sched_actor_forget_job(sched, job);
    for (uint32_t row = gw_sched_row_next(job, 0); job->objects > 0;
         row = gw_sched_row_next(job, row + 1))
        gw_sched_objects_drop(sched, job, row);
    gw_sched_job_leave_session(job);
    if (job->prev)
        job->prev->next = job->next;
    else
        sched->first_job = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        sched->last_job = job->prev;
    sched->job_count--;
    if (job->state == GW_JOB_ENDED)
        ended_unlink(sched, job);
    else
        sched->unended_jobs--;
    (void)gw_map_remove(&sched->jobs, job->id);

    size_t at = 0;
    uint64_t row, failure;
    while (gw_map_next(&job->failures, &at, &row, &failure))
        gw_sched_failure_unref((struct gw_failure *)(uintptr_t)failure);
    gw_sched_failure_unref(job->first_failure);
    gw_sched_failure_unref(job->cancelled_failure);
    for (size_t i = 0; i < job->specs.count; i++)
        free(job->specs.items[i].told);
    for (size_t i = 0; i < job->queues.count; i++)
        gw_sched_queue_free(sched, job->queues.items[i]);
    for (size_t i = 0; i < job->blobs.count; i++)
        free(job->blobs.items[i]);
    if (job->specs.capacity) /* else it is a value's: see scattered.h */
        gw_array_deinit(&job->specs);
    gw_array_deinit(&job->queues);
    gw_array_deinit(&job->blobs);
    gw_array_deinit(&job->places);
    gw_map_deinit(&job->failures);
    gw_sched_judged_free(job);
    gw_sched_tasks_deinit(&job->tasks);
    gw_sched_range_free(job);
    gw_job_rare_free(job);
    gw_arena_deinit(&job->arena);
    free(job->progress);
    free(job->name);
    free(job->user);
    free(job);
}

void gw_sched_apply_job_dropped(struct gw_sched *sched, const struct gw_fact_job_dropped *fact)
{
    gw_sched_job_free(sched, fact->job);
}

void gw_sched_apply_job_forgotten(struct gw_sched *sched, const struct gw_fact_job_forgotten *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    gw_sched_job_free(sched, job);
}

void gw_sched_apply_progress_seen(struct gw_sched *sched, const struct gw_fact_progress_seen *fact)
{
    struct gw_job *job = fact->job;
    (void)sched;
    if (!job->progress) {
        job->progress = malloc(sizeof *job->progress);
        GW_MUST_PTR(job->progress);
    }
    double fraction = fact->progress->fraction;
    job->progress->index = fact->index;
    job->progress->fraction = fraction >= 0 ? (fraction <= 1 ? fraction : 1) : 0; /* NaN: 0 */
    (void)snprintf(job->progress->text, sizeof job->progress->text, "%s", fact->progress->text);
}

void gw_sched_apply_metric_seen(struct gw_sched *sched, const struct gw_fact_metric_seen *fact)
{
    (void)sched;
    struct gw_job_rare *rare = gw_job_rare_make(fact->job);
    if (!rare->metric_name || strcmp(rare->metric_name, fact->metric->name) != 0) {
        free(rare->metric_name);
        rare->metric_name = strdup(fact->metric->name);
        GW_MUST_PTR(rare->metric_name);
    }
    rare->metric_step = fact->metric->step;
    rare->metric_value = fact->metric->value;
}

/* -- Settling ------------------------------------------------------------------------------------
 */

/* Workers forget a job's specs when nothing of it will run there again. */
static void tell_forget(struct gw_sched *sched, const struct gw_job *job)
{
    for (size_t slot = 0; slot < sched->workers.count; slot++) {
        struct gw_worker *worker = sched->workers.items[slot];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        for (size_t i = 0; i < job->specs.count; i++) {
            const struct gw_spec *spec = &job->specs.items[i];
            if (slot >= spec->told_count || spec->told[slot] != worker->id)
                continue;
            gw_sched_send(sched, worker->remote, GW_MESSAGE_forget)->forget.job = job->id;
            break;
        }
    }
}

static bool may_compact(const struct gw_job *job)
{
    return !job->compacted && !job->detached && job->state == GW_JOB_ENDED &&
           (!job->session || job->held == 0) && job->shared == 0 && job->objects == 0 &&
           job->needed == 0 && job->borrowers == 0;
}

/* Nobody holds or needs a result of it (those that a detached job keeps go with it). */
static bool may_forget(const struct gw_job *job)
{
    return job->state == GW_JOB_ENDED && job->needed == 0 && job->questions == 0 &&
           job->shared == 0 && (!job->actor || job->actor->jobs == 0) &&
           (job->detached || (job->objects == 0 && (!job->session || job->held == 0)));
}

void gw_sched_jobs_tidy(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->aging.count; i++) {
        struct gw_job *job = gw_sched_job_find(sched, sched->aging.items[i]);
        if (!job || !may_compact(job))
            continue;
        tell_forget(sched, job);
        GW_FACT(sched, job_compacted, .job = job);
        /* Calls would push everything else from the history; values were never in it. */
        if ((job->calls_of || gw_sched_job_is_value(job)) && may_forget(job))
            GW_FACT(sched, job_forgotten, .at = job, .job = job->id);
    }
    gw_array_clear(&sched->aging);

    struct gw_job *job = sched->first_ended;
    uint32_t looked = 0;
    while (job && looked++ < 16 &&
           (sched->ended_jobs > sched->options.history_jobs ||
            sched->ended_tasks > GW_HISTORY_TASKS_MAX)) {
        struct gw_job *next = job->ended_next;
        if (may_forget(job) && gw_sched_job_shown_ended(sched, job)) {
            for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
                 row = gw_sched_row_next(job, row + 1))
                if (job->tasks.object[row] != GW_NONE)
                    gw_sched_release_task(sched, job, row);
            if (!job->compacted)
                tell_forget(sched, job);
            GW_FACT(sched, job_forgotten, .at = job, .job = job->id);
        }
        job = next;
    }
}

void gw_sched_jobs_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->ending.count; i++) {
        struct gw_job *job = sched->ending.items[i];
        if (job->state != GW_JOB_RUNNING || job->unfinished > 0)
            continue;
        GW_FACT(sched, job_ended, .at = job, .job = job->id, .wall_ns = sched->wall_ns);
        if (job->detached)
            GW_FACT(sched, announced, .job = job, .kind = GW_ANNOUNCE_JOB,
                    .number = sched->facts + 1);
    }
    gw_array_clear(&sched->ending);
}

bool gw_sched_knows(const struct gw_sched *sched, uint64_t job)
{
    return gw_sched_job_find(sched, job) != NULL;
}

void gw_sched_on_leftovers(struct gw_sched *sched, const struct gw_worker *worker,
                           const struct gw_msg_leftovers *message)
{
    uint64_t *unknown =
        gw_arena_alloc(&sched->effects->arena, (message->job.count + 1) * sizeof *unknown);
    uint32_t count = 0;
    GW_MUST_PTR(unknown);
    for (uint32_t i = 0; i < message->job.count; i++) {
        unknown[count] = gw_col64_at(message->job, i);
        count += !gw_sched_knows(sched, unknown[count]) || GW_PLANTED(568);
    }
    if (count)
        gw_sched_send(sched, worker->remote, GW_MESSAGE_leftovers)->leftovers.job =
            (struct gw_col64){unknown, count};
}

static bool is_hash(struct gw_bin a, struct gw_bin b)
{
    return a.size && a.size == b.size && memcmp(a.data, b.data, b.size) == 0;
}

bool gw_sched_names_content(const struct gw_sched *sched, struct gw_bin hash)
{
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        for (size_t i = 0; i < job->specs.count; i++)
            if (is_hash(job->specs.items[i].message.program, hash) ||
                is_hash(job->specs.items[i].message.files, hash))
                return true;
    return false;
}

bool gw_sched_uses_files(const struct gw_sched *sched, struct gw_bin hash)
{
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        for (size_t i = 0; i < job->specs.count; i++) {
            if (job->state == GW_JOB_ENDED && !job->session)
                break; /* nobody's result of it can be lost any more */
            if (is_hash(job->specs.items[i].message.files, hash))
                return true;
        }
    return false;
}
