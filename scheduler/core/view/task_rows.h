/* What a listing says of a job's tasks, a row each. */
#ifndef GW_SCHEDULER_CORE_TASK_ROWS_H
#define GW_SCHEDULER_CORE_TASK_ROWS_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

/* gw_task_rows_exit_code is what `gangway wait` exits with because of a failure. */
int32_t gw_task_rows_exit_code(const struct gw_failure *failure);

/* What gw_task_rows lists. */
struct gw_task_rows {
    const struct gw_job *job;
    const char *state; /* NULL: any */
    int64_t only;      /* this index alone; negative: all */
    bool results;      /* with small results */
};

/* gw_task_rows fills a page with tasks of a job, by their index; its cursor is the index to begin
 * with. */
void gw_task_rows(const struct gw_sched *sched, const struct gw_task_rows *wanted,
                  struct gw_page *page);

/* gw_task_rows_attempts lists a task's attempts, the first one first; of a gang, where rank 0 was,
 * and its ranks. */
struct gw_value *gw_task_rows_attempts(const struct gw_job *job, uint32_t row);

#endif
