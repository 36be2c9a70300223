/* How much memory is used, and by which objects. */
#ifndef GW_WORKER_CORE_OBJECTS_MEMORY_H
#define GW_WORKER_CORE_OBJECTS_MEMORY_H

#include "worker/core/model/state.h"

void gw_memory_init(struct gw_node_core *core);
void gw_memory_deinit(struct gw_node_core *core);
/* gw_memory_add counts an object, gw_memory_remove no longer; between the two its state, bytes and
 * token stay. gw_memory_rank makes it the newest of the list where it belongs. */
void gw_memory_add(struct gw_node_core *core, struct gw_object *object);
void gw_memory_remove(struct gw_node_core *core, struct gw_object *object);
void gw_memory_rank(struct gw_node_core *core, struct gw_object *object);
uint64_t gw_memory_used(const struct gw_node_core *core);
#endif
