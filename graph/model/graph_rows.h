/* The inside of a task graph: what the client library reads to submit one. See <gangway/graph.h>.
 *
 * Nodes are dense. gw_graph_rows_seal validates, sorts depth-first (an order that frees results
 * early; the order of submission, so that every dependency has a smaller row than its user) and
 * gives the columns of the submit message. */
#ifndef GW_MODEL_GRAPH_ROWS_H
#define GW_MODEL_GRAPH_ROWS_H

#include "graph/model/spec.h"

/* A sealed graph, in rows (row = place in the order). All borrowed from the graph. Nodes with equal
 * surroundings share a spec. */
struct gw_graph_rows {
    uint32_t count;
    uint32_t node_count;         /* external ones too */
    const uint32_t *row_of_node; /* of each node; UINT32_MAX for an external one */
    const struct gw_graph_spec *specs;
    uint32_t spec_count;
    const uint32_t *spec;     /* count */
    const char *const *names; /* count, NULL where a node has none */
    const uint32_t *args_at;  /* count + 1 offsets into args */
    const uint8_t *args;
    const uint32_t *deps_at; /* count + 1 offsets into dep_row, dep_rank */
    const uint32_t *dep_row;
    const uint32_t
        *dep_rank;           /* 0 for an ordinary task's; or GW_DEP_ALL, GW_DEP_AFTER (come last) */
    const uint64_t *dep_job; /* 0: this graph; else a job, and dep_row is an index in it */
};

/* gw_graph_rows_seal validates and gives the rows (once: a sealed graph takes no more nodes,
 * further calls give the same). Errors as gw_graph_check. */
int gw_graph_rows_seal(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error);

/* gw_graph_rows_sort does as gw_graph_rows_seal, but writes no row yet: only count, node_count,
 * row_of_node and the specs are there. gw_graph_rows_write writes rows until there are `rows` of
 * them, or all; what lies before them can be read then. So a large graph's first rows can leave
 * while later ones are written. */
int gw_graph_rows_sort(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error);
void gw_graph_rows_write(struct gw_graph *graph, uint32_t rows);

/* gw_graph_rows_head gives the rows of a large graph's first nodes, at once: they are the first
 * rows of gw_graph_rows_seal, too. rows->count is 0 where there is no such head: of a small graph,
 * a sealed one, or one with gw_graph_after, whose order has to be found first. The graph takes no
 * more nodes. */
int gw_graph_rows_head(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error);

/* gw_graph_external adds a node that stands for task `index` of a job submitted earlier: usable in
 * gw_result, not run again. It takes no row: references to it become deps with dep_job. */
gw_node gw_graph_external(struct gw_graph *graph, uint64_t job, uint32_t index);

/* gw_graph_external_of gives what such a node stands for; false for another node, or none. */
bool gw_graph_external_of(const struct gw_graph *graph, gw_node node, uint64_t *job,
                          uint32_t *index);

#endif
