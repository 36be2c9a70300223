/* Tasks that act as clients end with all that they opened. */
#ifndef GW_SCHEDULER_CORE_NESTED_END_H
#define GW_SCHEDULER_CORE_NESTED_END_H

#include "scheduler/core/model/state.h"

/* gw_sched_nested_settle closes the sessions of attempts that have ended. */
void gw_sched_nested_settle(struct gw_sched *sched);

#endif
