/* Jobs that wait for other jobs.
 *
 * While a job is gated, each of its rows waits for one thing more than its own dependencies. The
 * gate opens once, when the last of the jobs before it has ended. If one of them ended badly and
 * the job requires success, every row fails first. If an ended job runs again, it is gated again by
 * those jobs before it that are running again at this time. Jobs before it that have ended are
 * ignored. */
#include "scheduler/core/model/jobs/gate.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdio.h>

static bool ended_badly(const struct gw_job *job)
{
    return job->failed > 0 || job->cancelled_tasks > 0;
}

int gw_sched_gate_check(const struct gw_sched *sched, const struct gw_job *job,
                        const struct gw_msg_after *after, bool admin, struct gw_error *error)
{
    if (after->job.count > GW_GATES_MAX)
        return gw_error_set(
            error, GW_ELIMIT,
            "the job is to start after %u other jobs, and %d is the most: let it wait for fewer",
            after->job.count, GW_GATES_MAX);
    for (uint32_t i = 0; i < after->job.count; i++) {
        unsigned long long id = gw_col64_at(after->job, i);
        const struct gw_job *before = gw_sched_job_find(sched, id);
        if (!before || before == job)
            return gw_error_set(error, GW_ENOENT, "there is no job %llu to wait for", id);
        if (before->uid != job->uid && !admin)
            return gw_error_set(
                error, GW_EPERM,
                "job %llu belongs to another user: a job can only wait for jobs of its own user",
                id);
        if ((after->flags & GW_SUBMIT_DETACHED) && !before->detached)
            return gw_error_set(error, GW_EINVAL,
                                "a detached job cannot wait for job %llu, because that job is not "
                                "detached and ends with its client: submit it detached, too",
                                id);
        if (before->state == GW_JOB_ENDED && ended_badly(before) && !gw_col32_at(after->any, i))
            return gw_error_set(
                error, GW_EDEPENDENCY,
                "job %llu, for which this job waits, did not succeed, so this job cannot start",
                id);
    }
    return 0;
}

/* Adds a job to the followers of another job, unless it is there already: a job that failed because
 * of one job may still follow another. */
static void follow(struct gw_job *before, struct gw_job *job, bool any)
{
    struct gw_job_rare *rare = gw_job_rare_make(before);
    const struct gw_follower *follower;
    job->gates++;
    GW_ARRAY_EACH (&rare->followers, follower)
        if (follower->job == job->id)
            return;
    GW_MUST(gw_array_push(&rare->followers, ((struct gw_follower){job->id, any})));
}

void gw_sched_gate_add(struct gw_sched *sched, struct gw_job *job, const struct gw_msg_after *after)
{
    for (uint32_t i = 0; i < after->job.count; i++) {
        struct gw_job *before = gw_sched_job_find(sched, gw_col64_at(after->job, i));
        bool any = gw_col32_at(after->any, i) != 0;
        if (before)
            GW_MUST(gw_array_push(&gw_job_rare_make(job)->befores,
                                  ((struct gw_follower){before->id, any})));
        if (before && before->state != GW_JOB_ENDED)
            follow(before, job, any);
        else if (before && !any && ended_badly(before))
            job->gate_failed = before->id;
    }
    job->gated = job->gates > 0 || job->gate_failed;
}

void gw_sched_gates_close(struct gw_sched *sched, struct gw_job *job)
{
    const struct gw_job_rare *rare = gw_job_rare(job);
    if (rare->befores.count == 0)
        return;
    job->gates = job->unwritten;
    job->gate_failed = 0;
    for (size_t i = 0; i < rare->befores.count; i++) {
        struct gw_job *before = gw_sched_job_find(sched, rare->befores.items[i].job);
        if (before && before->state != GW_JOB_ENDED)
            follow(before, job, rare->befores.items[i].any);
    }
    if (job->gated) /* while restoring: the rows wait already */
        return;
    job->gated = job->gates > 0;
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count && job->gated;
         row = gw_sched_row_next(job, row + 1))
        job->tasks.waiting[row]++;
}

void gw_sched_gates_on_ended(struct gw_sched *sched, struct gw_job *job)
{
    const struct gw_job_rare *rare = gw_job_rare(job);
    for (size_t i = 0; i < rare->followers.count; i++) {
        const struct gw_follower *follower = &rare->followers.items[i];
        struct gw_job *after = gw_sched_job_find(sched, follower->job);
        if (!after || !after->gated)
            continue;
        after->gates--;
        if (!follower->any && ended_badly(job) && !after->gate_failed)
            after->gate_failed = job->id;
        if (after->gates == 0 || after->gate_failed)
            GW_MUST(gw_array_push(&sched->ungated, after->id));
    }
    if (job->rare)
        gw_array_deinit(&job->rare->followers);
}

void gw_sched_gate_job_written(struct gw_sched *sched, struct gw_job *job)
{
    job->unwritten = false;
    if (--job->gates == 0)
        GW_MUST(gw_array_push(&sched->ungated, job->id));
}

void gw_sched_gate_explain(const struct gw_sched *sched, const struct gw_job *job, char *text,
                           size_t text_bytes)
{
    size_t used = 0;
    uint32_t said = 0;
    *text = '\0';
    for (size_t i = 0; i < gw_job_rare(job)->befores.count && said < 3; i++) {
        const struct gw_job *before =
            gw_sched_job_find(sched, gw_job_rare(job)->befores.items[i].job);
        if (!before || before->state == GW_JOB_ENDED || used >= text_bytes)
            continue;
        int n = snprintf(text + used, text_bytes - used, "%sjob %llu (%s)", said ? ", " : "",
                         (unsigned long long)before->id, before->name ? before->name : "");
        used += n > 0 ? (size_t)n : 0;
        said++;
    }
}
