/* Jobs that start after other jobs have ended. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_GATE_H
#define GW_SCHEDULER_CORE_LIFECYCLE_GATE_H

#include "scheduler/core/model/state.h"

/* gw_sched_gates_settle starts the jobs whose preceding jobs have all ended well. It fails the jobs
 * of which a preceding job did not end well. */
void gw_sched_gates_settle(struct gw_sched *sched);

#endif
