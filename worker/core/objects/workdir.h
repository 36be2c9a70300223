/* Working folders of tasks with files. */
#ifndef GW_WORKER_CORE_OBJECTS_WORKDIR_H
#define GW_WORKER_CORE_OBJECTS_WORKDIR_H

#include "worker/core/model/state.h"

/* gw_workdir_want has a new run wait for its folder, where it is to have one; gw_workdir_leave lets
 * go of it. gw_workdir_of is where a run is to run. */
void gw_workdir_want(struct gw_node_core *core, struct gw_attempt *run);
void gw_workdir_on_event(struct gw_node_core *core, const struct gw_event *event);
void gw_workdir_leave(struct gw_node_core *core, struct gw_attempt *run);
/* gw_workdir_outlive lets the folders of what a process was given stay until gw_workdir_end: its
 * runs are given up, and it is still to be buried. */
void gw_workdir_outlive(struct gw_node_core *core, struct gw_process *process);
void gw_workdir_end(struct gw_node_core *core, struct gw_process *process);
const char *gw_workdir_of(const struct gw_attempt *run);

#endif
