/* Jobs: their end, freeing their tasks (compaction), and forgetting them. */

#include "scheduler/core/lifecycle/job.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/accounting.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/send.h"

/* Tells the workers to forget a job's specs, because no task of this job will run again. */
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

/* Returns true if a client may still ask for results of the job: it holds a future, or the range is
 * still open. */
static bool is_its_clients(const struct gw_job *job)
{
    return job->session && (job->held > 0 || gw_sched_range_is_open(job));
}

static bool may_compact(const struct gw_job *job)
{
    return !job->compacted && !job->detached && job->state == GW_JOB_ENDED &&
           !is_its_clients(job) && job->shared == 0 && job->objects == 0 && job->needed == 0 &&
           job->borrowers == 0;
}

/* Returns true if the job may be forgotten: no client holds and no task needs one of its results.
 * The results that a detached job keeps are forgotten with it. */
static bool may_forget(const struct gw_job *job)
{
    return job->state == GW_JOB_ENDED && job->needed == 0 && job->pending_requests == 0 &&
           job->shared == 0 && (!job->actor || job->actor->jobs == 0) &&
           (job->detached || (job->objects == 0 && !is_its_clients(job)));
}

/* Forgets a job, which is freed. */
static void forget(struct gw_sched *sched, struct gw_job *job)
{
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (job->tasks.object[row] != GW_NO_INDEX)
            gw_sched_outbox_release_task(sched, job, row);
    if (!job->compacted)
        tell_forget(sched, job);
    GW_FACT(sched, job_forgotten, .at = job, .job = job->id);
}

/* Tells all workers to remove the files of a forgotten job. A worker that is not connected asks
 * when it comes back. */
static void tell_unknown(struct gw_sched *sched, uint64_t job)
{
    uint64_t *unknown = gw_arena_alloc(&sched->step.effects->arena, sizeof *unknown);
    GW_MUST_PTR(unknown);
    *unknown = job;
    for (size_t slot = 0; slot < sched->workers.count; slot++) {
        const struct gw_worker *worker = sched->workers.items[slot];
        if (worker && worker->state != GW_WORKER_LOST)
            gw_sched_send(sched, worker->remote, GW_MESSAGE_orphaned_files)->orphaned_files.job =
                (struct gw_col64){unknown, 1};
    }
}

int gw_sched_job_remove(struct gw_sched *sched, struct gw_job *job, struct gw_error *error)
{
    const unsigned long long id = job->id, parent = job->parent;
    const struct gw_job *above = parent ? gw_sched_job_find(sched, parent) : NULL;
    if (!gw_sched_job_shown_ended(sched, job))
        return gw_error_set(error, GW_EINVAL,
                            "job %llu has not ended and cannot be removed: `gangway cancel %llu` "
                            "ends it",
                            id, id);
    if (above && above->state != GW_JOB_ENDED)
        return gw_error_set(error, GW_EINVAL,
                            "job %llu cannot be removed yet: job %llu, which submitted it, has not "
                            "ended",
                            id, parent);
    if (job->retained || gw_sched_job_is_value(job) || !may_forget(job))
        return gw_error_set(error, GW_EINVAL,
                            "job %llu cannot be removed yet: a client or another job still uses "
                            "its results",
                            id);
    forget(sched, job);
    tell_unknown(sched, id);
    return 0;
}

void gw_sched_jobs_tidy(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->aging.count; i++) {
        struct gw_job *job = gw_sched_job_find(sched, sched->aging.items[i]);
        if (!job || !may_compact(job))
            continue;
        tell_forget(sched, job);
        gw_sched_job_compact(sched, job);
        /* Calls and values are forgotten at once: calls would fill the history, and values never
         * appear in it. */
        if ((job->calls_of || gw_sched_job_is_value(job)) && may_forget(job))
            GW_FACT(sched, job_forgotten, .at = job, .job = job->id);
    }
    gw_sched_noted_aging(sched);

    struct gw_job *job = sched->ended.first;
    uint32_t looked = 0;
    while (job && looked++ < 16 && !sched->idle.count &&
           (sched->ended.count > sched->options.history_jobs ||
            sched->ended.tasks > GW_HISTORY_TASKS_MAX)) {
        struct gw_job *next = job->ended_next;
        if (may_forget(job) && gw_sched_job_shown_ended(sched, job))
            forget(sched, job);
        job = next;
    }
}

void gw_sched_jobs_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->ending.count; i++) {
        struct gw_job *job = sched->ending.items[i];
        if (job->state != GW_JOB_RUNNING || job->unfinished > 0)
            continue;
        gw_job_usage_record(sched, job);
        GW_FACT(sched, job_numbered, .at = job, .job = job->id, .seq = gw_event_number_next(sched));
        GW_FACT(sched, job_ended, .at = job, .job = job->id, .wall_ns = sched->wall_ns);
        gw_sched_accounting_ended(sched, job);
        if (job->detached)
            gw_sched_notify_announce(sched, job, 0, GW_ANNOUNCE_JOB, sched->facts + 1);
    }
    gw_sched_noted_ending(sched);
}

void gw_sched_on_orphaned_files(struct gw_sched *sched, const struct gw_worker *worker,
                                const struct gw_msg_orphaned_files *message)
{
    uint64_t *unknown =
        gw_arena_alloc(&sched->step.effects->arena, (message->job.count + 1) * sizeof *unknown);
    uint32_t count = 0;
    GW_MUST_PTR(unknown);
    for (uint32_t i = 0; i < message->job.count; i++) {
        unknown[count] = gw_col64_at(message->job, i);
        const struct gw_job *job = gw_sched_job_find(sched, unknown[count]);
        /* The worker was not connected when the other workers were told to forget the job. */
        if (job && job->compacted)
            gw_sched_send(sched, worker->remote, GW_MESSAGE_forget)->forget.job = job->id;
        count += !job;
    }
    if (count)
        gw_sched_send(sched, worker->remote, GW_MESSAGE_orphaned_files)->orphaned_files.job =
            (struct gw_col64){unknown, count};
}
