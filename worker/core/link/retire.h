/* The last of a run. */
#ifndef GW_WORKER_CORE_LINK_RETIRE_H
#define GW_WORKER_CORE_LINK_RETIRE_H

#include "worker/core/model/state.h"

/* gw_retire_attempt frees a run, wherever it is, and lets go of all that it has. */
void gw_retire_attempt(struct gw_node_core *core, struct gw_attempt *run);

#endif
