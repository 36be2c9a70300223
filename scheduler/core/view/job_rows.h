/* Rows of the listing "jobs". */
#ifndef GW_SCHEDULER_CORE_JOB_ROWS_H
#define GW_SCHEDULER_CORE_JOB_ROWS_H

#include "scheduler/core/view/running.h"
#include "scheduler/core/view/selection.h"

/* gw_job_rows_describe builds the row of one job. sees: with what its tasks reported. */
struct gw_value *gw_job_rows_describe(const struct gw_sched *sched, const struct gw_job *job,
                                      const struct gw_running *runs, bool sees);

/* What gw_job_rows is to list. */
struct gw_job_rows {
    const struct gw_selection *selection;
    const struct gw_remote *asker; /* the client; NULL: the scheduler itself */
    uint32_t rows_max;
    bool brief;  /* each row is [id, whether the job has ended] */
    bool counts; /* count the jobs beyond rows_max */
};

/* gw_job_rows fills a page with the selected jobs, newest first. The cursor of the page is the
 * highest job id to look at, or 0 for any. If `counts` is set, the function returns how many
 * selected jobs it found beyond rows_max. */
uint32_t gw_job_rows(const struct gw_sched *sched, const struct gw_job_rows *wanted,
                     struct gw_page *page);

#endif
