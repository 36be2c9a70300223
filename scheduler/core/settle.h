/* Settling: applies the consequences of a step's facts until nothing more follows. */
#ifndef GW_SCHEDULER_CORE_SETTLE_H
#define GW_SCHEDULER_CORE_SETTLE_H

#include "scheduler/core/model/state.h"

/* gw_sched_settle handles all pending notes. It fails the tasks that depend on failed tasks, runs
 * tasks again whose results were lost, releases results that nobody needs, ends jobs, and tries
 * pending requests again. */
void gw_sched_settle(struct gw_sched *sched);

#endif
