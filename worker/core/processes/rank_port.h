/* Ports of ranks of commands. */
#ifndef GW_WORKER_CORE_PROCESSES_RANK_PORT_H
#define GW_WORKER_CORE_PROCESSES_RANK_PORT_H

#include "worker/core/model/state.h"

/* gw_rank_port_of is where a rank of this worker is found, "host:port"; empty: it has none.
 * gw_rank_port_tf_config is the line of its environment that tells TensorFlow of all, while the
 * gang goes; NULL: there is none. */
const char *gw_rank_port_of(struct gw_node_core *core, const struct gw_attempt *run);
const char *gw_rank_port_tf_config(struct gw_node_core *core, const struct gw_attempt *run);

#endif
