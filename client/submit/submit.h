/* The inside of submitting graphs. */
#ifndef GW_CLIENT_SUBMIT_H
#define GW_CLIENT_SUBMIT_H

#include "client/results/future_group.h"
#include "graph/model/graph_rows.h"

/* gw_submit_one submits the one task of a sealed graph; with its future, or (target false) without
 * any: then the group is empty, and to be dropped. */
int gw_submit_one(struct gw_client *client, const struct gw_graph_rows *rows, bool target,
                  struct gw_future_group **group, struct gw_error *error);

#endif
