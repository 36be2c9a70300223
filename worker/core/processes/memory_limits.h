/* What goes to disk, when nothing new starts, who is killed. */
#ifndef GW_WORKER_CORE_PROCESSES_MEMORY_LIMITS_H
#define GW_WORKER_CORE_PROCESSES_MEMORY_LIMITS_H

#include "worker/core/model/state.h"

bool gw_memory_limits_holds(const struct gw_node_core *core); /* nothing new starts, ranks apart */
/* gw_memory_limits_lets_one: what starts here does so alone. gw_memory_limits_on_begun: one did,
 * which is no rank: no other does, where it is short of memory. */
bool gw_memory_limits_lets_one(const struct gw_node_core *core);
void gw_memory_limits_on_begun(struct gw_node_core *core);
/* gw_memory_limits_keeps: a run that was not given a process stays, though it is asked back. */
bool gw_memory_limits_keeps(const struct gw_node_core *core, const struct gw_attempt *run);
/* gw_memory_limits_lets: a full worker has room for a run. gw_memory_limits_refuses: what it does
 * not let has waited long enough; gw_memory_limits_refuse ends that. */
bool gw_memory_limits_lets(const struct gw_node_core *core, const struct gw_attempt *run);
bool gw_memory_limits_refuses(const struct gw_node_core *core);
void gw_memory_limits_refuse(struct gw_node_core *core, struct gw_attempt *run);
void gw_memory_limits_on_measured(struct gw_node_core *core, const struct gw_event *event);
void gw_memory_limits_settle(struct gw_node_core *core); /* at the end of a step */
uint64_t gw_memory_limits_deadline_ns(const struct gw_node_core *core);

/* gw_memory_limits_of is what a process may use: a pool's runs have all asked for the same; 0: no
 * limit. */
uint64_t gw_memory_limits_of(const struct gw_process *process);

#endif
