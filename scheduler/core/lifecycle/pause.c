/* Paused jobs.
 *
 * Always: no queue of a paused job is in its shape's heap, so that nothing that places or hands
 * over meets it. Its tasks become ready as ever; how they end counts as ever. */
#include "scheduler/core/lifecycle/pause.h"

int gw_sched_pause_job(struct gw_sched *sched, struct gw_job *job, const char *by,
                       struct gw_error *error)
{
    unsigned long long id = job->id;
    if (job->actor || job->calls_of)
        return gw_error_set(error, GW_EINVAL,
                            "job %llu is an actor: it runs for as long as somebody holds it", id);
    if (job->unfinished == 0)
        return gw_error_set(error, GW_EINVAL, "job %llu has ended: there is nothing to pause", id);
    if (!job->paused)
        GW_FACT(sched, job_paused, .at = job, .job = job->id, .paused = true, .by = by);
    return 0;
}

int gw_sched_pause_over(struct gw_sched *sched, struct gw_job *job, const char *by,
                        struct gw_error *error)
{
    if (!job->paused)
        return gw_error_set(error, GW_EINVAL, "job %llu is not paused",
                            (unsigned long long)job->id);
    GW_FACT(sched, job_paused, .at = job, .job = job->id, .by = by);
    return 0;
}
