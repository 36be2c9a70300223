/* Retained folders: what commands with files left in their working folders. */
#ifndef GW_WORKER_CORE_OBJECTS_WORKDIR_RETENTION_H
#define GW_WORKER_CORE_OBJECTS_WORKDIR_RETENTION_H

#include "worker/core/model/state.h"

/* gw_workdir_retention_take retains the folder of an attempt that ends, and takes ownership of its
 * path. Returns false if the folder is not retained. */
bool gw_workdir_retention_take(struct gw_node_core *core, struct gw_attempt *run);
void gw_workdir_retention_on_counted(struct gw_node_core *core, const struct gw_event *event);
void gw_workdir_retention_on_forget(struct gw_node_core *core, uint64_t job);
void gw_workdir_retention_deinit(struct gw_node_core *core);
void gw_workdir_retention_check(const struct gw_node_core *core);

/* gw_workdir_retention_find returns the retained folder of a task or rank. NULL: there is none. */
const struct gw_retained_workdir *gw_workdir_retention_find(const struct gw_node_core *core,
                                                            uint64_t job, uint32_t index,
                                                            uint32_t rank);

#endif
