/* Ranges: cancelling them, and freeing blocks of tasks that have ended. */

#include "scheduler/core/lifecycle/range.h"

#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/model/model.h"

/* Returns true if a block must stay in memory because some of its tasks failed or were cancelled,
 * and a user may retry them. This applies only to detached jobs and to at most
 * GW_RANGE_BAD_BLOCKS_MAX blocks of a range. */
static bool stays(const struct gw_job *job, uint32_t block)
{
    const struct gw_range *range = job->range;
    uint32_t first = block * range->block, others = 0;
    uint32_t end = gw_sched_range_least(first + range->block, job->tasks.count);
    bool bad = false;
    for (uint32_t row = first; row < end && job->detached && !bad; row++)
        bad = job->tasks.state[row] == GW_TASK_FAILED || job->tasks.state[row] == GW_TASK_CANCELLED;
    for (uint32_t i = range->low; bad && i < block && others < GW_RANGE_BAD_BLOCKS_MAX; i++)
        others +=
            range->block_open[i] == 0 && job->tasks.state[i * range->block] != GW_TASK_RETIRED;
    return bad && others < GW_RANGE_BAD_BLOCKS_MAX;
}

static void settle_stub(struct gw_sched *sched, const struct gw_stub *stub)
{
    struct gw_job *job = gw_sched_job_find(sched, stub->job);
    if (!job)
        return;
    const struct gw_range *range = job->range;
    uint32_t first = stub->block * range->block;
    bool made = job->tasks.count == range->count || job->tasks.count - first >= range->block;
    if (range->block_open[stub->block] == 0 && made && job->tasks.state[first] != GW_TASK_RETIRED &&
        !stays(job, stub->block))
        gw_sched_range_retire(job, stub->block);
}

void gw_sched_ranges_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->hungry.count; i++) {
        struct gw_job *job = gw_sched_job_find(sched, sched->hungry.items[i]);
        if (!job || !gw_sched_range_take_failure(job->range))
            continue;
        gw_sched_cancel_job(
            sched, job, &(struct gw_cancel){.reason = GW_KILL_CANCEL, .by = "its first failure"});
    }
    for (size_t i = 0; i < sched->stubs.count; i++)
        settle_stub(sched, &sched->stubs.items[i]);
    gw_sched_noted_stubs(sched);
}
