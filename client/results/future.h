/* Fetching results, for use inside the client. */
#ifndef GW_CLIENT_FUTURE_H
#define GW_CLIENT_FUTURE_H

#include "client/results/future_group.h"

/* One rank's result of a task. */
struct gw_future_place {
    uint64_t job;
    uint32_t index, rank;
};

/* gw_future_fetch fetches a result from the cluster. It blocks for at most timeout_ns. The caller
 * unrefs *value. */
int gw_future_fetch(struct gw_client *client, const struct gw_future_place *place,
                    uint64_t timeout_ns, struct gw_value **value, struct gw_error *error);

#endif
