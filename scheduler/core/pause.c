/* Paused jobs.
 *
 * Always: no queue of a paused job is in its shape's heap, so that nothing that places or hands
 * over meets it. Its tasks become ready as ever; how they end counts as ever. */
#include "scheduler/core/pause.h"

#include "scheduler/core/job.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/story.h"

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

void gw_sched_apply_job_paused(struct gw_sched *sched, const struct gw_fact_job_paused *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    job->paused = fact->paused != 0;
    for (size_t i = 0; i < job->queues.count; i++)
        if (job->paused)
            gw_sched_queue_hold(sched, job->queues.items[i]);
        else if (!job->awaits)
            gw_sched_queue_let(sched, job->queues.items[i]);
    if (!job->paused)
        sched->freed = true;
    GW_STORY(sched, job, .kind = GW_STORY_PAUSED, .index = GW_INDEX_ALL, .detail = job->paused,
             .text = fact->by);
}
