/* Ports of ranks of commands. */
#ifndef GW_WORKER_CORE_PROCESSES_DOOR_H
#define GW_WORKER_CORE_PROCESSES_DOOR_H

#include "worker/core/model/state.h"

/* gw_door_of is where a rank of this worker is found, "host:port"; empty: it has none.
 * gw_door_tf_config is the line of its environment that tells TensorFlow of all, while the gang
 * goes; NULL: there is none. */
const char *gw_door_of(struct gw_node_core *core, const struct gw_run *run);
const char *gw_door_tf_config(struct gw_node_core *core, const struct gw_run *run);

#endif
