/* Sends tasks to runners. */
#ifndef GW_WORKER_CORE_RUNNERS_BATCH_H
#define GW_WORKER_CORE_RUNNERS_BATCH_H

#include "worker/core/model/state.h"

void gw_batch_send(struct gw_node_core *core, struct gw_process *process,
                   struct gw_attempt *const *runs, uint32_t count);

#endif
