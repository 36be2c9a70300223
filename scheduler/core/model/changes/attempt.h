/* Attempts start, or are told to end. */
#ifndef GW_SCHEDULER_CORE_CHANGES_ATTEMPT_H
#define GW_SCHEDULER_CORE_CHANGES_ATTEMPT_H

#include "scheduler/core/model/state.h"

/* gw_sched_attempt_lengthen counts a short attempt as a long one from now on; false where
 * there is no slot that it could have for itself. */
bool gw_sched_attempt_lengthen(struct gw_sched *sched, struct gw_worker_queue *lane);

#endif
