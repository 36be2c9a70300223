/* Starts work: gives tasks to runners, and starts and ends runners. */
#ifndef GW_WORKER_CORE_RUNNERS_PUMP_H
#define GW_WORKER_CORE_RUNNERS_PUMP_H

#include "worker/core/model/state.h"

/* gw_pump_begin ends the attempts that cannot start. Returns false if nothing can start at all.
 * gw_pump_runners gives work to runners, and starts and ends runners. */
bool gw_pump_begin(struct gw_node_core *core);
void gw_pump_runners(struct gw_node_core *core);

#endif
