/* Restores objects from disk. */
#ifndef GW_WORKER_CORE_OBJECTS_RESTORE_H
#define GW_WORKER_CORE_OBJECTS_RESTORE_H

#include "worker/core/model/state.h"

void gw_restore_on_restored(struct gw_node_core *core, const struct gw_event *event);

#endif
