/* Disconnected workers: workers that were lost a short time ago or have come back but are not ready
 * yet, and the room that they would have. Tasks that would fit with these workers wait and are not
 * refused. */
#ifndef GW_SCHEDULER_CORE_DISCONNECTED_H
#define GW_SCHEDULER_CORE_DISCONNECTED_H

#include "scheduler/core/model/state.h"

/* gw_sched_disconnected_could returns true if the empty cluster together with the disconnected
 * workers could hold a shape. The named resources of disconnected workers are unknown and are
 * ignored. */
bool gw_sched_disconnected_could(const struct gw_sched *sched,
                                 const struct gw_resource_class *shape);

/* gw_sched_disconnected_explain writes which workers a task waits for, if its shape fits only
 * together with disconnected workers. Otherwise it writes "". */
void gw_sched_disconnected_explain(const struct gw_sched *sched,
                                   const struct gw_resource_class *shape, char *text, size_t bytes);

#endif
