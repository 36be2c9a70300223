/* Scattering encoded values, for use inside the client. */
#ifndef GW_CLIENT_SCATTER_H
#define GW_CLIENT_SCATTER_H

#include "client/link/client.h"

/* gw_scatter_encoded puts an encoded value into the cluster as a job of one finished task. *name is
 * the name of its resubmit log, or its job number if there is no log. Release it with
 * gw_resubmit_log_let_go. */
int gw_scatter_encoded(struct gw_client *client, const void *encoded, size_t bytes, uint64_t *name,
                       struct gw_error *error);

#endif
