/* What has ended goes. */
#ifndef GW_WORKER_CORE_REAP_H
#define GW_WORKER_CORE_REAP_H

#include "worker/core/model/state.h"

/* gw_reap tells of all that has ended, and frees it; false: there was nothing. */
bool gw_reap(struct gw_node_core *core);

#endif
