/* The inside of submitting graphs. */
#ifndef GW_CLIENT_SUBMIT_H
#define GW_CLIENT_SUBMIT_H

#include "client/bundle.h"
#include "graph/model/graph.h"

/* gw_submit_one submits the one task of a sealed graph; with its future, or (target false) without
 * any: then the bundle is empty, and to be dropped. */
int gw_submit_one(struct gw_client *client, const struct gw_graph_rows *rows, bool target,
                  struct gw_bundle **bundle, struct gw_error *error);

#endif
