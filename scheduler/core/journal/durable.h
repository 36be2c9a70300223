/* Durable facts as bytes, and back. */
#ifndef GW_SCHEDULER_CORE_DURABLE_H
#define GW_SCHEDULER_CORE_DURABLE_H

#include "scheduler/core/model/state.h"

/* gw_sched_durable_flush turns the facts of the step into its one COMMIT effect. */
void gw_sched_durable_flush(struct gw_sched *sched);

#endif
