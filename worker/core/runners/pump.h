/* Work and runners are brought together. */
#ifndef GW_WORKER_CORE_RUNNERS_PUMP_H
#define GW_WORKER_CORE_RUNNERS_PUMP_H

#include "worker/core/model/state.h"

/* gw_pump_begin ends what cannot start; false: nothing can start at all. gw_pump_runners gives work
 * to runners, and starts and ends them. */
bool gw_pump_begin(struct gw_node_core *core);
void gw_pump_runners(struct gw_node_core *core);

#endif
