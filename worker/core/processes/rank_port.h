/* Network ports for the ranks of a command. */
#ifndef GW_WORKER_CORE_PROCESSES_RANK_PORT_H
#define GW_WORKER_CORE_PROCESSES_RANK_PORT_H

#include "worker/core/model/state.h"

/* gw_rank_port_of returns the address "host:port" of a rank on this worker. Empty: the rank has no
 * port. gw_rank_port_tf_config returns the TF_CONFIG line of a rank's environment, which tells
 * TensorFlow the addresses of all ranks. NULL: the addresses are not known. */
const char *gw_rank_port_of(struct gw_node_core *core, const struct gw_attempt *run);
const char *gw_rank_port_tf_config(struct gw_node_core *core, const struct gw_attempt *run);

#endif
