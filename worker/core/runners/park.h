/* Parked runners: idle ones whose slots others use meanwhile. */
#ifndef GW_WORKER_CORE_RUNNERS_PARK_H
#define GW_WORKER_CORE_RUNNERS_PARK_H

#include "worker/core/model/state.h"

/* gw_park_put has an idle runner give its slots back and stay; false: it must end for that, because
 * it is on GPUs, or its link is closed. Of too many the one that was idle longest ends. */
bool gw_park_put(struct gw_node_core *core, struct gw_process *process);

/* gw_park_wake has a parked runner of the pool take slots again, which must be free, to be fed: the
 * one that was parked last; NULL: there is none. */
struct gw_process *gw_park_wake(struct gw_node_core *core, struct gw_pool *pool);

/* gw_park_rest: whoever was woken is fed, or idle as others are. */
void gw_park_rest(struct gw_node_core *core);

#endif
