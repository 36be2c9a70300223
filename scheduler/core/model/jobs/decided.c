/* Attempts whose end was decided.
 *
 * Invariant: this fact is in the same commit as the retry counters that the end changed, so no term
 * knows one without the other. A worker that reports an end forgets the attempt. So only attempts
 * of lost workers and ranks of gangs are recorded. */
#include "scheduler/core/model/jobs/decided.h"

#include "scheduler/core/model/jobs/asked.h"
#include "scheduler/core/model/jobs/job.h"

#include <stdlib.h>

void gw_sched_decided_note(struct gw_sched *sched, const struct gw_task_end_cause *task_end)
{
    struct gw_job *job = task_end->job;
    const struct gw_tasks *tasks = &job->tasks;
    const uint32_t row = task_end->index;
    if (!job->detached) /* attempts of other jobs are never adopted */
        return;
    if (job->specs.items[tasks->spec[row]].message.ranks == 0) {
        bool undecided =
            tasks->state[row] == GW_TASK_PIPELINED || (tasks->flags[row] & GW_TASK_RERUN);
        if (task_end->end->outcome != GW_OUTCOME_LOST || undecided)
            return;
    }
    GW_FACT(sched, attempt_decided, .at = job, .job = job->id, .index = row,
            .attempt = task_end->attempt);
}

void gw_sched_apply_attempt_decided(struct gw_sched *sched,
                                    const struct gw_fact_attempt_decided *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    if (!job->decided) {
        job->decided = calloc(1, sizeof *job->decided);
        GW_MUST_PTR(job->decided);
    }
    GW_MUST(gw_map_put(job->decided, fact->attempt, fact->index));
    if (gw_sched_gang_asked(job, fact->index).attempt == fact->attempt)
        gw_sched_gang_asked_drop(job, fact->index);
}

bool gw_sched_decided(const struct gw_job *job, uint64_t attempt)
{
    return job->decided && gw_map_get(job->decided, attempt, NULL);
}

/* Adds an order-independent sum, because the order in the map may differ between terms. */
void gw_sched_decided_dump(const struct gw_job *job, struct gw_buffer *out)
{
    uint64_t attempt, row, sum = 0;
    size_t at = 0;
    while (job->decided && gw_map_next(job->decided, &at, &attempt, &row))
        sum += attempt * (row + 1);
    GW_MUST(gw_buffer_append(out, &sum, sizeof sum));
}

void gw_sched_decided_free(struct gw_job *job)
{
    if (!job->decided)
        return;
    gw_map_deinit(job->decided);
    free(job->decided);
    job->decided = NULL;
}
