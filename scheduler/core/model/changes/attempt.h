/* Appliers of facts about attempts. */
#ifndef GW_SCHEDULER_CORE_CHANGES_ATTEMPT_H
#define GW_SCHEDULER_CORE_CHANGES_ATTEMPT_H

#include "scheduler/core/model/state.h"

/* gw_sched_attempt_lengthen counts a short attempt as long from now on. Returns false if the worker
 * has no free slot for a debit of its own. */
bool gw_sched_attempt_lengthen(struct gw_sched *sched, struct gw_worker_queue *lane);

#endif
