/* What goes to disk, when nothing new starts, who is killed. */
#ifndef GW_WORKER_CORE_MEMORY_H
#define GW_WORKER_CORE_MEMORY_H

#include "worker/core/state.h"

void gw_memory_init(struct gw_node_core *core);
void gw_memory_deinit(struct gw_node_core *core);
/* gw_memory_add counts an object, gw_memory_remove no longer; between the two its state, bytes and
 * token stay. gw_memory_rank makes it the newest of the list where it belongs. */
void gw_memory_add(struct gw_node_core *core, struct gw_object *object);
void gw_memory_remove(struct gw_node_core *core, struct gw_object *object);
void gw_memory_rank(struct gw_node_core *core, struct gw_object *object);
uint64_t gw_memory_used(const struct gw_node_core *core);
bool gw_memory_holds(const struct gw_node_core *core); /* nothing new starts, ranks apart */
/* gw_memory_lets_one: what starts here does so alone. gw_memory_on_begun: one did, which is no
 * rank: no other does, where it is short of memory. */
bool gw_memory_lets_one(const struct gw_node_core *core);
void gw_memory_on_begun(struct gw_node_core *core);
/* gw_memory_keeps: a run that was not given a process stays, though it is asked back. */
bool gw_memory_keeps(const struct gw_node_core *core, const struct gw_run *run);
/* gw_memory_lets: a full worker has room for a run. gw_memory_refuses: what it does not let has
 * waited long enough; gw_memory_refuse ends that. */
bool gw_memory_lets(const struct gw_node_core *core, const struct gw_run *run);
bool gw_memory_refuses(const struct gw_node_core *core);
void gw_memory_refuse(struct gw_node_core *core, struct gw_run *run);
void gw_memory_on_measured(struct gw_node_core *core, const struct gw_event *event);
void gw_memory_settle(struct gw_node_core *core); /* at the end of a step */
uint64_t gw_memory_deadline_ns(const struct gw_node_core *core);

#endif
