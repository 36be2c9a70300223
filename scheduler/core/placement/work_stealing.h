/* Balance: work that queues at one worker while another has nothing to do is asked back. */
#ifndef GW_SCHEDULER_CORE_WORK_STEALING_H
#define GW_SCHEDULER_CORE_WORK_STEALING_H

#include "scheduler/core/model/state.h"

/* gw_sched_work_stealing recalls prefetched tasks where a free slot could run them sooner; at the
 * end of a placement, when nothing more is ready for that slot. */
void gw_sched_work_stealing(struct gw_sched *sched);

/* gw_sched_work_stealing_recall_queued asks back all that queues at a worker and no process has,
 * but for what was handed over: that follows what it takes. */
void gw_sched_work_stealing_recall_queued(struct gw_sched *sched, struct gw_worker *worker);

#endif
