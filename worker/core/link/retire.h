/* Frees ended attempts. */
#ifndef GW_WORKER_CORE_LINK_RETIRE_H
#define GW_WORKER_CORE_LINK_RETIRE_H

#include "worker/core/model/state.h"

/* gw_retire_attempt frees an attempt in any state and list, and releases everything that it holds.
 */
void gw_retire_attempt(struct gw_node_core *core, struct gw_attempt *run);

#endif
