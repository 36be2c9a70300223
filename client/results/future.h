/* Fetching results, for use inside the client. */
#ifndef GW_CLIENT_FUTURE_H
#define GW_CLIENT_FUTURE_H

#include "client/results/future_group.h"

/* gw_future_fetch fetches a result from the cluster. It blocks. The caller unrefs *value. */
int gw_future_fetch(struct gw_client *client, uint64_t job, uint32_t index, uint32_t rank,
                    struct gw_value **value, struct gw_error *error);

#endif
