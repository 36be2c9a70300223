/* The inside of scattered values. */
#ifndef GW_CLIENT_SCATTER_H
#define GW_CLIENT_SCATTER_H

#include "client/link/client.h"

/* gw_scatter_encoded puts encoded bytes into the cluster as a job of one finished task; *name is
 * the job's number, or its record's name: gw_resubmit_log_let_go gives that up. */
int gw_scatter_encoded(struct gw_client *client, const void *encoded, size_t bytes, uint64_t *name,
                       struct gw_error *error);

#endif
