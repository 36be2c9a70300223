/* Working folders of tasks with files. */
#ifndef GW_WORKER_CORE_OBJECTS_WORKDIR_H
#define GW_WORKER_CORE_OBJECTS_WORKDIR_H

#include "worker/core/model/state.h"

/* gw_workdir_want requests a folder for a new attempt if its task has files. The attempt waits for
 * it. gw_workdir_leave releases the folder. gw_workdir_of returns the folder in which an attempt
 * runs. */
void gw_workdir_want(struct gw_node_core *core, struct gw_attempt *run);
void gw_workdir_on_event(struct gw_node_core *core, const struct gw_event *event);
void gw_workdir_leave(struct gw_node_core *core, struct gw_attempt *run);
/* gw_workdir_outlive is called when the attempts of a process are given up before the process is
 * reaped. It keeps their folders until gw_workdir_end. */
void gw_workdir_outlive(struct gw_node_core *core, struct gw_process *process);
void gw_workdir_end(struct gw_node_core *core, struct gw_process *process);
const char *gw_workdir_of(const struct gw_attempt *run);

#endif
