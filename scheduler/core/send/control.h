/* Control messages to the ranks of a gang. */
#ifndef GW_SCHEDULER_CORE_CONTROL_H
#define GW_SCHEDULER_CORE_CONTROL_H

#include "scheduler/core/model/state.h"

/* gw_sched_gang_control sends a command to a gang that runs (GW_CONTROL_*, model/jobs/gang.h): to
 * rank 0's worker if it runs a function, else to each worker that has a rank. */
void gw_sched_gang_control(struct gw_sched *sched, const struct gw_gang_try *gang,
                           uint32_t command);

#endif
