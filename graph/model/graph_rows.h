/* The interface by which the client library submits a task graph. See <gangway/graph.h>.
 *
 * Nodes are numbered without gaps. gw_graph_rows_seal validates the graph, sorts it depth-first,
 * and returns the columns of the submit message. In this order results can be freed early, and
 * every row comes after the rows that it depends on. */
#ifndef GW_MODEL_GRAPH_ROWS_H
#define GW_MODEL_GRAPH_ROWS_H

#include "graph/model/spec.h"

/* A sealed graph as rows. A row is the position of a node in the sorted order. All memory is
 * borrowed from the graph. Nodes with the same function or command, environment and options share a
 * spec. */
struct gw_graph_rows {
    uint32_t count;
    uint32_t node_count;         /* including external nodes */
    const uint32_t *row_of_node; /* the row of each node; UINT32_MAX for an external node */
    const struct gw_graph_spec *specs;
    uint32_t spec_count;
    const uint32_t *spec;     /* count */
    const char *const *names; /* count entries, NULL if a node has no name */
    const uint32_t *args_at;  /* count + 1 offsets into args */
    const uint8_t *args;
    const uint32_t *deps_at; /* count + 1 offsets into dep_row, dep_rank */
    const uint32_t *dep_row;
    const uint32_t *dep_rank; /* a rank or 0; GW_DEP_ALL or GW_DEP_AFTER (these come last) */
    const uint64_t *dep_job;  /* 0: dep_row is a row of this graph; else a job with index dep_row */
};

/* gw_graph_rows_seal validates the graph and returns its rows. A sealed graph accepts no more
 * nodes. Further calls return the same rows. It returns the same errors as gw_graph_check. */
int gw_graph_rows_seal(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error);

/* gw_graph_rows_sort does the same as gw_graph_rows_seal but writes no rows yet: it sets only
 * count, node_count, row_of_node and the specs. gw_graph_rows_write then writes rows until `rows`
 * rows, or all, are written. The caller may read these rows. So the first rows of a large graph can
 * be sent while later ones are written. */
int gw_graph_rows_sort(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error);
void gw_graph_rows_write(struct gw_graph *graph, uint32_t rows);

/* gw_graph_rows_head returns the rows of the first nodes of a large graph immediately. They are
 * also the first rows of gw_graph_rows_seal. It sets rows->count to 0 if this is not possible: the
 * graph is small, is sealed, or uses gw_graph_after (its order must be computed first). The graph
 * accepts no more nodes. */
int gw_graph_rows_head(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error);

/* gw_graph_external adds a node that stands for task `index` of a job that was submitted earlier.
 * Other nodes can use it in gw_result. It does not run again and has no row. References to it
 * become dependencies with dep_job. */
gw_node gw_graph_external(struct gw_graph *graph, uint64_t job, uint32_t index);

/* gw_graph_external_of writes the job and the index of an external node. Returns false if the node
 * is not external or does not exist. */
bool gw_graph_external_of(const struct gw_graph *graph, gw_node node, uint64_t *job,
                          uint32_t *index);

#endif
