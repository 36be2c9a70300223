/* Targets: nodes that futures are wanted of, in the order of rows. */
#ifndef GW_CLIENT_TARGETS_H
#define GW_CLIENT_TARGETS_H

#include "graph/model/graph_rows.h"

struct gw_target {
    uint32_t row;
    uint32_t at; /* in the caller's arrays */
};

struct gw_targets {
    struct gw_target *items;
    uint32_t *rows; /* ascending, maybe repeated */
    uint32_t count;
};

/* gw_targets_init sorts `count` nodes of a sealed graph; GW_EINVAL for one that is no task of it,
 * GW_ENOMEM. gw_targets_deinit frees, also after a failure. */
int gw_targets_init(struct gw_targets *targets, const struct gw_graph_rows *rows,
                    const gw_node *nodes, size_t count, struct gw_error *error);
/* gw_targets_init_head does it for the first rows of a graph: nodes that are not among them come
 * last, with row UINT32_MAX. */
int gw_targets_init_head(struct gw_targets *targets, const struct gw_graph_rows *head,
                         const gw_node *nodes, size_t count, struct gw_error *error);
void gw_targets_deinit(struct gw_targets *targets);

#endif
