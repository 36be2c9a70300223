/* Names of outcomes. */
#ifndef GW_SCHEDULER_CORE_OUTCOME_H
#define GW_SCHEDULER_CORE_OUTCOME_H

#include <stdint.h>

/* gw_sched_outcome_name returns the name of an outcome, a static string. */
const char *gw_sched_outcome_name(uint32_t outcome);

#endif
