/* Memory limits: which results are spilled to disk, when no new work may start, and which process
 * is killed. */
#ifndef GW_WORKER_CORE_PROCESSES_MEMORY_LIMITS_H
#define GW_WORKER_CORE_PROCESSES_MEMORY_LIMITS_H

#include "worker/core/model/state.h"

bool gw_memory_limits_holds(
    const struct gw_node_core *core); /* no new work may start, except ranks */
/* gw_memory_limits_lets_one returns true if memory is short, so that at most one attempt may start.
 * gw_memory_limits_on_begun records that an attempt other than a rank started. No further one
 * starts while memory is short. */
bool gw_memory_limits_lets_one(const struct gw_node_core *core);
void gw_memory_limits_on_begun(struct gw_node_core *core);
/* gw_memory_limits_keeps returns true if an attempt without a process must stay here although the
 * scheduler asks for it back. */
bool gw_memory_limits_keeps(const struct gw_node_core *core, const struct gw_attempt *run);
/* gw_memory_limits_lets returns true if the worker has memory for the result of an attempt.
 * gw_memory_limits_refuses returns true if the attempts that it has no memory for have waited long
 * enough. gw_memory_limits_refuse ends such an attempt. */
bool gw_memory_limits_lets(const struct gw_node_core *core, const struct gw_attempt *run);
bool gw_memory_limits_refuses(const struct gw_node_core *core);
void gw_memory_limits_refuse(struct gw_node_core *core, struct gw_attempt *run);
void gw_memory_limits_on_measured(struct gw_node_core *core, const struct gw_event *event);
void gw_memory_limits_settle(struct gw_node_core *core); /* called at the end of a step */
uint64_t gw_memory_limits_deadline_ns(const struct gw_node_core *core);

/* gw_memory_limits_of returns the memory limit of a process. All attempts of a pool ask for the
 * same amount. 0: no limit. */
uint64_t gw_memory_limits_of(const struct gw_process *process);

#endif
