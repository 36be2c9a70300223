/* Working folders of tasks with files. */
#ifndef GW_WORKER_CORE_OBJECTS_FOLDER_H
#define GW_WORKER_CORE_OBJECTS_FOLDER_H

#include "worker/core/model/state.h"

/* gw_folder_want has a new run wait for its folder, where it is to have one; gw_folder_leave lets
 * go of it. gw_folder_of is where a run is to run. */
void gw_folder_want(struct gw_node_core *core, struct gw_run *run);
void gw_folder_on_event(struct gw_node_core *core, const struct gw_event *event);
void gw_folder_leave(struct gw_node_core *core, struct gw_run *run);
/* gw_folder_outlive lets the folders of what a process was given stay until gw_folder_end: its runs
 * are given up, and it is still to be buried. */
void gw_folder_outlive(struct gw_node_core *core, struct gw_process *process);
void gw_folder_end(struct gw_node_core *core, struct gw_process *process);
const char *gw_folder_of(const struct gw_run *run);

#endif
