/* What is reserved for gangs that wait. */
#ifndef GW_SCHEDULER_CORE_RESERVED_H
#define GW_SCHEDULER_CORE_RESERVED_H

#include "scheduler/core/model/state.h"

/* gw_sched_reserved_set reserves ranks of so many slots at a worker, in place of what was reserved
 * there, and puts the worker among those with as many open slots. */
void gw_sched_reserved_set(struct gw_sched *sched, struct gw_worker *worker, uint32_t ranks,
                           uint32_t slots);

#endif
