/* Counts the memory that results use, and orders results by last use. */
#ifndef GW_WORKER_CORE_OBJECTS_MEMORY_H
#define GW_WORKER_CORE_OBJECTS_MEMORY_H

#include "worker/core/model/state.h"

void gw_memory_init(struct gw_node_core *core);
void gw_memory_limit(struct gw_node_core *core, const struct gw_node_options *thresholds);
void gw_memory_deinit(struct gw_node_core *core);
/* gw_memory_add counts an object and gw_memory_remove stops counting it. In between, the caller
 * must not change the object's state, bytes or token. gw_memory_rank puts the object into the list
 * for its state, as the most recently used. */
void gw_memory_add(struct gw_node_core *core, struct gw_object *object);
void gw_memory_remove(struct gw_node_core *core, struct gw_object *object);
void gw_memory_rank(struct gw_node_core *core, struct gw_object *object);
uint64_t gw_memory_used(const struct gw_node_core *core);
#endif
