/* Changes of state of jobs: acceptance, pauses, compaction, end and removal. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/account.h"
#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/decided.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/event_number.h"
#include "scheduler/core/model/jobs/gate.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/metric.h"
#include "scheduler/core/model/jobs/pure.h"
#include "scheduler/core/model/jobs/range.h"
#include "scheduler/core/model/jobs/share.h"
#include "scheduler/core/model/jobs/task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void gw_sched_apply_pure_shared(struct gw_sched *sched, const struct gw_fact_pure_shared *fact)
{
    struct gw_job *original = gw_sched_job_find(sched, fact->original_job);
    GW_MUST_PTR(original);
    GW_MUST(gw_array_push(&sched->pures.shares,
                          ((struct gw_pure_share){fact->index, original, fact->original_index})));
}

void gw_sched_apply_job_accepted(struct gw_sched *sched, const struct gw_fact_job_accepted *fact)
{
    struct gw_job *job = fact->at;
    if (!job) {
        job = gw_sched_job_new(sched, fact->job);
        job->uid = fact->uid;
        job->user = strdup(fact->user);
        GW_MUST_PTR(job->user);
        job->detached = true;
    }
    /* A job with a key must not start before it is on disk. If the job were lost with this term,
     * its client would submit it again, and tasks would run twice. */
    job->unwritten = fact->at && *gw_sched_job_key(job);
    job->gates = job->unwritten;
    job->gated = job->unwritten;
    int rc = gw_sched_content_replay(sched, job, fact->content);
    assert(rc == 0); /* the content was validated before */
    gw_array_clear(&sched->pures.shares);
    gw_sched_job_seal(sched, job, fact->wall_ns);
    gw_sched_job_key_add(sched, job);
}

void gw_sched_job_cancel(struct gw_sched *sched, struct gw_job *job, const struct gw_cancel *cancel)
{
    job->cancelled = true;
    gw_sched_event_log_cancel(sched, job, GW_INDEX_ALL, cancel);
}

void gw_sched_apply_job_parent(struct gw_sched *sched, const struct gw_fact_job_parent *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_job *parent = gw_sched_job_find(sched, fact->parent);
    job->parent = fact->parent;
    if (parent)
        parent->has_children = true;
}

/* Finds a new first failure of a job after the task with the first one was retried. */
static void find_failure(struct gw_job *job)
{
    size_t at = 0;
    uint64_t row, value, first = UINT64_MAX;
    if (job->first_failure || job->failed + job->cancelled_tasks == 0)
        return;
    while (gw_map_next(&job->failures, &at, &row, &value))
        first = row < first ? row : first;
    struct gw_failure *failure = first < UINT64_MAX
                                     ? gw_sched_task_failure_of(job, (uint32_t)first)
                                     : gw_sched_task_failure_new(GW_ECANCELLED, "cancelled");
    failure->refs += first < UINT64_MAX;
    job->first_failure = failure;
}

void gw_sched_apply_job_numbered(struct gw_sched *sched, const struct gw_fact_job_numbered *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    job->end_event = fact->seq;
    gw_event_number_used(sched, job, fact->seq);
}

void gw_sched_apply_job_ended(struct gw_sched *sched, const struct gw_fact_job_ended *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    gw_sm_move(&gw_sched_job_sm, &job->state, GW_JOB_ENDED);
    find_failure(job);
    gw_account_leave(job);
    job->ended_wall_ns = fact->wall_ns;
    job->ended_number = job->detached ? sched->facts + 1 : 0;
    if (job->has_children) /* they come before it in the history */
        gw_sched_job_revisit_all(sched, &sched->retained);
    if (!gw_sched_job_is_value(job))
        gw_sched_job_ended_link(sched, job);
    gw_sched_gates_on_ended(sched, job);
    if (--sched->unended_jobs == 0)
        sched->idle_since_ns = sched->now_ns;
    if (job->pending_requests)
        GW_MUST(gw_array_push(&sched->revisited, job->id));
    if (job->names)
        GW_MUST(gw_array_push(&sched->nameless, job->id));
    GW_MUST(gw_array_push(&sched->aging, job->id));
}

/* Ends the claims of a job on its inputs in other jobs: its tasks will not run again, so these
 * inputs need not be computed again. */
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

/* Frees what is only needed to run a task of the job again. */
void gw_sched_job_compact(struct gw_sched *sched, struct gw_job *job)
{
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
    if (job->names)
        GW_MUST(gw_array_push(&sched->nameless, job->id));
    gw_sched_job_key_remove(sched, job);
    gw_account_leave(job);
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
    sched->values -= gw_sched_job_is_value(job);
    sched->tally.unfinished -= job->unfinished;
    sched->tally.done -= job->done;
    sched->tally.failed -= job->failed;
    sched->tally.cancelled -= job->cancelled_tasks;
    if (job->state == GW_JOB_ENDED)
        gw_sched_job_ended_unlink(sched, job);
    else
        sched->unended_jobs--;
    (void)gw_map_remove(&sched->jobs, job->id);

    size_t at = 0;
    uint64_t row, failure;
    while (gw_map_next(&job->failures, &at, &row, &failure))
        gw_sched_task_failure_unref((struct gw_failure *)(uintptr_t)failure);
    gw_sched_task_failure_unref(job->first_failure);
    gw_sched_task_failure_unref(job->cancelled_failure);
    for (size_t i = 0; i < job->specs.count; i++)
        free(job->specs.items[i].told);
    for (size_t i = 0; i < job->queues.count; i++)
        gw_sched_queue_free(sched, job->queues.items[i]);
    for (size_t i = 0; i < job->blobs.count; i++)
        free(job->blobs.items[i]);
    if (job->specs.capacity) /* otherwise the job is a scattered value, see scattered.h */
        gw_array_deinit(&job->specs);
    gw_array_deinit(&job->queues);
    gw_array_deinit(&job->blobs);
    gw_array_deinit(&job->places);
    gw_map_deinit(&job->failures);
    gw_sched_decided_free(job);
    gw_sched_tasks_deinit(&job->tasks);
    gw_sched_range_free(job);
    gw_metric_free(job);
    gw_job_rare_free(job);
    gw_arena_deinit(&job->arena);
    free(job->progress);
    free(job->name);
    free(job->user);
    free(job);
}

void gw_sched_job_drop(struct gw_sched *sched, struct gw_job *job)
{
    gw_sched_job_free(sched, job);
}

void gw_sched_apply_job_forgotten(struct gw_sched *sched, const struct gw_fact_job_forgotten *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    gw_sched_job_free(sched, job);
}

void gw_sched_apply_job_paused(struct gw_sched *sched, const struct gw_fact_job_paused *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    job->paused = (uint8_t)fact->paused;
    for (size_t i = 0; i < job->queues.count; i++)
        if (job->paused)
            gw_sched_queue_hold(sched, job->queues.items[i]);
        else if (!job->awaits)
            gw_sched_queue_let(sched, job->queues.items[i]);
    if (!job->paused)
        sched->freed = true;
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_PAUSED, .index = GW_INDEX_ALL, .detail = job->paused,
                 .text = fact->by);
}
