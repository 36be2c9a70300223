/* CPU time of attempts: a process says how much it has used since its start, and the attempts that
 * end share what was used since the last end. */
#ifndef GW_WORKER_CORE_LINK_CPU_TIME_H
#define GW_WORKER_CORE_LINK_CPU_TIME_H

#include "worker/core/model/state.h"

/* gw_cpu_time_divide divides what a process used since the last end among these attempts, the first
 * of its queue, in proportion to their run times, and tells the scheduler. gw_cpu_time_give gives
 * all of it to one attempt. Both come before the report of the end. */
void gw_cpu_time_divide(struct gw_node_core *core, struct gw_process *process,
                        struct gw_col64 attempts, struct gw_col64 run_ns);
void gw_cpu_time_give(struct gw_node_core *core, struct gw_attempt *run);

/* gw_cpu_time_tell tells the scheduler the CPU time of an attempt, or of one of its ranks. It does
 * nothing if cpu_ns is 0 or the worker is not registered. */
void gw_cpu_time_tell(struct gw_node_core *core, uint64_t attempt, uint32_t rank, uint64_t cpu_ns);

#endif
