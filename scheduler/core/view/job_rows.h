/* What a listing says of jobs, a row each. */
#ifndef GW_SCHEDULER_CORE_JOB_ROWS_H
#define GW_SCHEDULER_CORE_JOB_ROWS_H

#include "scheduler/core/view/running.h"
#include "scheduler/core/view/selection.h"

/* gw_job_rows_describe gives one row. */
struct gw_value *gw_job_rows_describe(const struct gw_sched *sched, const struct gw_job *job,
                                      const struct gw_running *runs);

/* What gw_job_rows lists. */
struct gw_job_rows {
    const struct gw_selection *selection;
    uint32_t rows_max;
    bool brief;  /* a row is [number, whether it has ended] */
    bool counts; /* those beyond rows_max are counted */
};

/* gw_job_rows fills a page with the jobs that are meant, the newest first; its cursor is the
 * highest number that is looked at (0: any). It returns how many of those that it looked at are
 * beyond rows_max, if `counts`. */
uint32_t gw_job_rows(const struct gw_sched *sched, const struct gw_job_rows *wanted,
                     struct gw_page *page);

#endif
