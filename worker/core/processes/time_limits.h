/* Time limits of processes. */
#ifndef GW_WORKER_CORE_PROCESSES_TIME_LIMITS_H
#define GW_WORKER_CORE_PROCESSES_TIME_LIMITS_H

#include "worker/core/model/state.h"

void gw_time_limits_tick(struct gw_node_core *core);
uint64_t gw_time_limits_deadline_ns(const struct gw_node_core *core);

#endif
