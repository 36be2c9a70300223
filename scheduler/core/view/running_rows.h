/* The listing "running": what runs where, a row each task or rank. */
#ifndef GW_SCHEDULER_CORE_RUNNING_ROWS_H
#define GW_SCHEDULER_CORE_RUNNING_ROWS_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

/* gw_running_rows fills a page, worker by worker, the oldest of each first; its cursor counts rows.
 */
void gw_running_rows(const struct gw_sched *sched, struct gw_page *page);

#endif
