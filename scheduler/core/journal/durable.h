/* Facts of the journal as bytes. */
#ifndef GW_SCHEDULER_CORE_DURABLE_H
#define GW_SCHEDULER_CORE_DURABLE_H

#include "scheduler/core/model/state.h"

/* gw_sched_durable_flush adds the one COMMIT effect of a step, with the durable facts of this step.
 */
void gw_sched_durable_flush(struct gw_sched *sched);

#endif
