/* Submitting a graph of one task, for use inside the client. */
#ifndef GW_CLIENT_SUBMIT_H
#define GW_CLIENT_SUBMIT_H

#include "client/results/future_group.h"
#include "graph/model/graph_rows.h"

/* gw_submit_one submits the only task of a sealed graph. If `target` is true, *group has the task's
 * future. If `target` is false, *group is empty, and the caller drops it. */
int gw_submit_one(struct gw_client *client, const struct gw_graph_rows *rows, bool target,
                  struct gw_future_group **group, struct gw_error *error);

#endif
