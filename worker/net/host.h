/* The driver of the worker's core. */
#ifndef GW_NET_HOST_H
#define GW_NET_HOST_H

#include "worker/net/link/state.h"

int gw_host_open(uv_loop_t *loop, const struct gw_host_options *options, struct gw_host **host,
                 struct gw_error *error);

/* gw_host_configure makes the health checks and the thresholds of memory of these options count. */
void gw_host_configure(struct gw_host *host, const struct gw_host_options *options);

/* gw_host_free frees a host after its loop has ended. */
void gw_host_free(struct gw_host *host);

#endif
