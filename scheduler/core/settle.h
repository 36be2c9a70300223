/* Settling: what follows from what became true, until nothing more does. */
#ifndef GW_SCHEDULER_CORE_SETTLE_H
#define GW_SCHEDULER_CORE_SETTLE_H

#include "scheduler/core/model/state.h"

/* gw_sched_settle decides all that is pending: failures reach what depends on them, lost results
 * are made again, results nobody needs are released, jobs end, questions are answered. */
void gw_sched_settle(struct gw_sched *sched);

#endif
