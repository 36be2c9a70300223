/* Jobs that wait for other jobs start, or fail with them. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_GATE_H
#define GW_SCHEDULER_CORE_LIFECYCLE_GATE_H

#include "scheduler/core/model/state.h"

/* gw_sched_gates_settle lets jobs start whose gates have opened, and fails those whose never will.
 */
void gw_sched_gates_settle(struct gw_sched *sched);

#endif
