/* Work stealing: if a worker is idle, the scheduler asks another worker to return tasks that wait
 * there. */
#ifndef GW_SCHEDULER_CORE_WORK_STEALING_H
#define GW_SCHEDULER_CORE_WORK_STEALING_H

#include "scheduler/core/model/state.h"

/* gw_sched_work_stealing asks back queued tasks that a free slot could run sooner. It is called at
 * the end of a placement, when no ready task is left for this slot. */
void gw_sched_work_stealing(struct gw_sched *sched);

/* gw_sched_work_stealing_recall_queued asks back all queued tasks that no process at a worker has
 * begun, except pipelined tasks, which must stay with the tasks that make their inputs. */
void gw_sched_work_stealing_recall_queued(struct gw_sched *sched, struct gw_worker *worker);

#endif
