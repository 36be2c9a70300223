/* Starts the supervisor of this worker. */
#ifndef GW_NET_SUPERVISOR_H
#define GW_NET_SUPERVISOR_H

#include "worker/net/link/state.h"

/* gw_supervisor_start starts the supervisor. It must be called before any task runs. Returns GW_EIO
 * and sets the error if it fails. */
int gw_supervisor_start(struct gw_host *host, struct gw_error *error);

#endif
