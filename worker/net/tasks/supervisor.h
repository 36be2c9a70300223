/* The supervisor of this worker. */
#ifndef GW_NET_SUPERVISOR_H
#define GW_NET_SUPERVISOR_H

#include "worker/net/link/state.h"

/* gw_supervisor_start starts it, before anything runs. GW_EIO with a text. */
int gw_supervisor_start(struct gw_host *host, struct gw_error *error);

#endif
