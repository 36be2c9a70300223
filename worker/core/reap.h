/* Reports and frees attempts that have ended. */
#ifndef GW_WORKER_CORE_REAP_H
#define GW_WORKER_CORE_REAP_H

#include "worker/core/model/state.h"

/* gw_reap reports all ended attempts and frees them. Returns false if none had ended. */
bool gw_reap(struct gw_node_core *core);

#endif
