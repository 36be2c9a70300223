/* The internal struct of a graph. graph.c builds a graph, and rows.c converts it to the rows of a
 * submit message. */
#ifndef GW_MODEL_GRAPH_INSIDE_H
#define GW_MODEL_GRAPH_INSIDE_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/strmap.h"
#include "graph/model/graph_rows.h"
#include "graph/wire/codec.h"

#define GW_GRAPH_EXTERNAL UINT32_MAX /* spec of a node that stands for a task of an earlier job */

struct gw_graph_node {
    uint32_t spec;
    uint32_t deps_at, dep_count;
    uint32_t index; /* index of an external node in its job */
    uint64_t job;
    size_t args_at, args_bytes;
    const char *name; /* or NULL */
};

struct gw_graph_after_edge {
    uint32_t node, before;
};

/* The edges of a graph, sorted by node. The data dependencies of a node come before its other
 * edges. */
struct gw_graph_edges {
    uint32_t *at;
    uint32_t *to, *rank;
};

/* The columns of the rows while they are written. */
struct gw_graph_columns {
    uint32_t *row_of_node, *spec, *args_at, *deps_at, *dep_row, *dep_rank;
    const char **names;
    uint8_t *args;
    uint64_t *dep_job;
};

/* The writing of rows, for the first `nodes` nodes in this order. */
struct gw_graph_writing {
    struct gw_graph_columns columns;
    struct gw_graph_edges edges;
    uint32_t *order;
    size_t nodes, at;         /* at: the next index in `order` */
    uint32_t row, args, deps; /* number written so far */
};

struct gw_graph {
    struct gw_error error; /* the first error */
    bool sealed, headed;   /* headed: the first HEAD_NODES nodes have become the first rows */
    uint32_t external_count;
    GW_ARRAY(struct gw_graph_node) nodes;
    GW_ARRAY(struct gw_codec_dep) deps; /* .index is a node */
    GW_ARRAY(struct gw_graph_after_edge) after;
    GW_ARRAY(struct gw_graph_spec) specs;
    struct gw_map spec_by_hash;
    const struct gw_function *plain; /* function of the last call without options */
    uint32_t plain_spec;             /* the spec of that call */
    struct gw_strmap node_by_name;
    struct gw_buffer args;
    struct gw_codec_deps found; /* references of the node that is being added */
    struct gw_arena arena;      /* memory of texts and rows */
    struct gw_graph_rows rows;
    struct gw_graph_writing writing; /* the writing of these rows */
};

/* gw_graph_label returns how error texts name a node: its name, else its function or program with
 * its number. The result is written to text if necessary. */
const char *gw_graph_label(const struct gw_graph *graph, uint32_t index, char *text, size_t bytes);

/* gw_graph_rows_deinit frees the temporary memory that is used to write rows. The rows themselves
 * are in the arena. */
void gw_graph_rows_deinit(struct gw_graph *graph);

#endif
