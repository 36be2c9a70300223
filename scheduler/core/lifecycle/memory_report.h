/* Reports of workers about their memory. */
#ifndef GW_SCHEDULER_CORE_MEMORY_REPORT_H
#define GW_SCHEDULER_CORE_MEMORY_REPORT_H

#include "scheduler/core/model/state.h"

/* gw_sched_memory_on_report handles a worker's report of its free memory. If the worker is now too
 * full for new tasks, it is asked to return the tasks that it has not begun. */
void gw_sched_memory_on_report(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_memory *report);

/* gw_sched_memory_on_measured handles a worker's report of how much memory its attempts use, and of
 * their CPU time. */
int gw_sched_memory_on_measured(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_msg_measured *measured);

/* gw_sched_memory_report_take_back asks a worker to return the attempts that it has not begun. */
void gw_sched_memory_report_take_back(struct gw_sched *sched, struct gw_worker *worker);

#endif
