/* Objects on their way to disk and back. */
#ifndef GW_WORKER_CORE_OBJECTS_SPILL_H
#define GW_WORKER_CORE_OBJECTS_SPILL_H

#include "worker/core/model/state.h"

void gw_spill_write(struct gw_node_core *core, struct gw_object *object);
void gw_spill_open(struct gw_node_core *core, struct gw_object *object,
                   struct gw_object_waiter waiter);
void gw_spill_close(struct gw_node_core *core, struct gw_object *object);  /* if it is open */
void gw_spill_forget(struct gw_node_core *core, struct gw_object *object); /* it is freed */
void gw_spill_on_spilled(struct gw_node_core *core, const struct gw_event *event);
/* gw_spill_answered is the object whose file an answer is about, NULL if that has gone; the answer
 * is no more awaited. */
struct gw_object *gw_spill_answered(struct gw_node_core *core, uint64_t file);

#endif
