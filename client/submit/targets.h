/* Targets: the nodes of a graph for which the caller wants futures, sorted by row. */
#ifndef GW_CLIENT_TARGETS_H
#define GW_CLIENT_TARGETS_H

#include "graph/model/graph_rows.h"

struct gw_target {
    uint32_t row;
    uint32_t at; /* index in the caller's arrays of nodes and futures */
};

struct gw_targets {
    struct gw_target *items;
    uint32_t *rows; /* ascending; a row may occur several times */
    uint32_t count;
};

/* gw_targets_init sorts `count` nodes of a sealed graph by row. GW_EINVAL: a node is not a task of
 * the graph. GW_ENOMEM: out of memory. gw_targets_deinit frees the targets, also after a failure.
 */
int gw_targets_init(struct gw_targets *targets, const struct gw_graph_rows *rows,
                    const gw_node *nodes, size_t count, struct gw_error *error);
/* gw_targets_init_head sorts the nodes by the rows of the head, the first part of a graph. Nodes
 * that are not in the head come last, with row UINT32_MAX. */
int gw_targets_init_head(struct gw_targets *targets, const struct gw_graph_rows *head,
                         const gw_node *nodes, size_t count, struct gw_error *error);
void gw_targets_deinit(struct gw_targets *targets);

#endif
