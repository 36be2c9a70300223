/* Attempts that were judged.
 *
 * Always: that one is is in the same commit as what its end was charged to, so no life knows one
 * without the other. A worker that tells of an end forgets the attempt: only what a lost worker had
 * and ranks of gangs are written down. */
#include "scheduler/core/model/jobs/judged.h"

#include "scheduler/core/model/jobs/asked.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdlib.h>

void gw_sched_judged_note(struct gw_sched *sched, const struct gw_task_end_cause *verdict)
{
    struct gw_job *job = verdict->job;
    const struct gw_tasks *tasks = &job->tasks;
    const uint32_t row = verdict->index;
    if (!job->detached) /* nobody takes over any other */
        return;
    if (job->specs.items[tasks->spec[row]].message.ranks == 0) {
        bool undecided = tasks->state[row] == GW_TASK_HANDED || (tasks->flags[row] & GW_TASK_RERUN);
        if (verdict->end->outcome != GW_OUTCOME_LOST || undecided)
            return;
    }
    GW_FACT(sched, attempt_judged, .at = job, .job = job->id, .index = row,
            .attempt = verdict->attempt);
}

void gw_sched_apply_attempt_judged(struct gw_sched *sched,
                                   const struct gw_fact_attempt_judged *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    if (!job->judged) {
        job->judged = calloc(1, sizeof *job->judged);
        GW_MUST_PTR(job->judged);
    }
    GW_MUST(gw_map_put(job->judged, fact->attempt, fact->index));
    if (gw_sched_gang_asked(job, fact->index).attempt == fact->attempt)
        gw_sched_gang_asked_drop(job, fact->index);
}

bool gw_sched_judged(const struct gw_job *job, uint64_t attempt)
{
    return job->judged && gw_map_get(job->judged, attempt, NULL);
}

/* In whatever order they lie. */
void gw_sched_judged_dump(const struct gw_job *job, struct gw_buffer *out)
{
    uint64_t attempt, row, sum = 0;
    size_t at = 0;
    while (job->judged && gw_map_next(job->judged, &at, &attempt, &row))
        sum += attempt * (row + 1);
    GW_MUST(gw_buffer_append(out, &sum, sizeof sum));
}

void gw_sched_judged_free(struct gw_job *job)
{
    if (!job->judged)
        return;
    gw_map_deinit(job->judged);
    free(job->judged);
    job->judged = NULL;
}
