/* Rows of the listings "tasks" and "attempts". */
#ifndef GW_SCHEDULER_CORE_TASK_ROWS_H
#define GW_SCHEDULER_CORE_TASK_ROWS_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

/* What gw_task_rows is to list. */
struct gw_task_rows {
    const struct gw_job *job;
    const char *state; /* NULL: any state */
    int64_t only;      /* only the task of this index; negative: all tasks */
    bool results;      /* include small results */
    bool sees;         /* include what the tasks reported: results, failures, metrics */
};

/* gw_task_rows fills a page with tasks of a job in the order of their indices. The cursor of the
 * page is the index to begin with. */
void gw_task_rows(const struct gw_sched *sched, const struct gw_task_rows *wanted,
                  struct gw_page *page);

/* gw_task_rows_attempts lists the attempts of a task, the first attempt first. A gang's attempt is
 * one row with the worker of rank 0 and the number of ranks. */
struct gw_value *gw_task_rows_attempts(const struct gw_job *job, uint32_t row);

#endif
