/* Writes objects to disk and opens their files. */
#ifndef GW_WORKER_CORE_OBJECTS_SPILL_H
#define GW_WORKER_CORE_OBJECTS_SPILL_H

#include "worker/core/model/state.h"

void gw_spill_write(struct gw_node_core *core, struct gw_object *object);
void gw_spill_open(struct gw_node_core *core, struct gw_object *object,
                   struct gw_object_waiter waiter);
void gw_spill_close(struct gw_node_core *core,
                    struct gw_object *object); /* does nothing if no file is open */
void gw_spill_forget(struct gw_node_core *core,
                     struct gw_object *object); /* the object is being freed */
void gw_spill_on_spilled(struct gw_node_core *core, const struct gw_event *event);
/* gw_spill_answered returns the object whose file a reply is about, or NULL if the object was
 * freed. It removes the request. */
struct gw_object *gw_spill_answered(struct gw_node_core *core, uint64_t file);

#endif
