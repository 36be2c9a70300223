/* The listing "metrics": what tasks have reported, and how jobs have ended, in the order of their
 * event numbers (event_number.h).
 *
 * A row is never shown before all rows with smaller numbers could be shown, so that a client that
 * asks for the rows after the last number it has seen misses none. */
#ifndef GW_SCHEDULER_CORE_METRIC_ROWS_H
#define GW_SCHEDULER_CORE_METRIC_ROWS_H

#include "scheduler/core/view/page.h"

struct gw_job;
struct gw_sched;

enum { GW_METRIC_ROWS_JOBS_MAX = 10000 }; /* jobs of one query */

struct gw_metric_rows {
    struct gw_job *const *jobs;
    size_t count;
    int64_t row;    /* only this task's reports; negative: of all tasks */
    uint64_t after; /* only numbers above this one */
};

/* gw_metric_rows fills a page. Its cost grows with the number of jobs and of rows shown. */
void gw_metric_rows(const struct gw_sched *sched, const struct gw_metric_rows *wanted,
                    struct gw_page *page);

#endif
