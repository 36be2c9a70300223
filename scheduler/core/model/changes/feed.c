/* Creates rows of ranges. */

#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/range.h"

/* Returns how many rows of a range to create now. */
static uint32_t appetite(const struct gw_job *job)
{
    const struct gw_range *range = job->range;
    uint32_t waiting = range->live - job->placed;
    if (range->ended || job->state != GW_JOB_RUNNING || waiting >= GW_RANGE_HUNGRY)
        return 0;
    uint32_t rows = gw_sched_range_least(GW_RANGE_MEAL - waiting, range->count - job->tasks.count);
    rows = gw_sched_range_least(rows, range->ahead -
                                          gw_sched_range_least(range->ahead, range->open_rows));
    return gw_sched_range_least(rows,
                                range->limit - gw_sched_range_least(range->limit, range->live));
}

bool gw_sched_ranges_feed(struct gw_sched *sched)
{
    bool fed = false;
    size_t retained = 0;
    for (size_t i = 0; i < sched->hungry.count; i++) {
        struct gw_job *job = gw_sched_job_find(sched, sched->hungry.items[i]);
        uint32_t rows = job ? appetite(job) : 0;
        if (rows > 0) {
            gw_sched_range_grow(sched, job, rows);
            sched->hungry.items[retained++] = job->id;
            fed = true;
        } else if (job) {
            job->range->hungry = false;
        }
    }
    sched->hungry.count = retained;
    return fed;
}
