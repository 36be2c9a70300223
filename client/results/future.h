/* The inside of futures. */
#ifndef GW_CLIENT_FUTURE_H
#define GW_CLIENT_FUTURE_H

#include "client/results/future_group.h"

/* gw_future_fetch gets a result from the cluster, to be unref'd; blocks. */
int gw_future_fetch(struct gw_client *client, uint64_t job, uint32_t index, uint32_t rank,
                    struct gw_value **value, struct gw_error *error);

#endif
