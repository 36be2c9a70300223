/* The inside of a graph, which graph.c builds and rows.c turns into the rows of a submit. */
#ifndef GW_MODEL_GRAPH_INSIDE_H
#define GW_MODEL_GRAPH_INSIDE_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/strmap.h"
#include "graph/model/graph_rows.h"
#include "graph/wire/codec.h"

#define GW_GRAPH_EXTERNAL UINT32_MAX /* as the spec of a node */

struct gw_graph_node {
    uint32_t spec;
    uint32_t deps_at, dep_count;
    uint32_t index; /* of an external node: in its job */
    uint64_t job;
    size_t args_at, args_bytes;
    const char *name; /* or NULL */
};

struct gw_graph_after_edge {
    uint32_t node, before;
};

/* The edges of a graph, by node: data dependencies first, then the others. */
struct gw_graph_edges {
    uint32_t *at;
    uint32_t *to, *rank;
};

/* The columns of the rows, while they are written. */
struct gw_graph_columns {
    uint32_t *row_of_node, *spec, *args_at, *deps_at, *dep_row, *dep_rank;
    const char **names;
    uint8_t *args;
    uint64_t *dep_job;
};

/* Rows that are written one after the other, of the first `nodes` nodes in this order. */
struct gw_graph_writing {
    struct gw_graph_columns columns;
    struct gw_graph_edges edges;
    uint32_t *order;
    size_t nodes, at;         /* at: of `order`, the next */
    uint32_t row, args, deps; /* written so far */
};

struct gw_graph {
    struct gw_error error; /* the first that stuck */
    bool sealed, headed;   /* headed: the first HEAD_NODES nodes are the first rows */
    uint32_t external_count;
    GW_ARRAY(struct gw_graph_node) nodes;
    GW_ARRAY(struct gw_codec_dep) deps; /* .index is a node */
    GW_ARRAY(struct gw_graph_after_edge) after;
    GW_ARRAY(struct gw_graph_spec) specs;
    struct gw_map spec_by_hash;
    const struct gw_function *plain; /* that was called last without options; NULL: none was ... */
    uint32_t plain_spec;             /* ... and its spec */
    struct gw_strmap node_by_name;
    struct gw_buffer args;
    struct gw_codec_deps found; /* of the node that is being added */
    struct gw_arena arena;      /* texts; the rows */
    struct gw_graph_rows rows;
    struct gw_graph_writing writing; /* of those rows */
};

/* gw_graph_label is what a person calls a node: its name, else its function or program with its
 * number, in text. */
const char *gw_graph_label(const struct gw_graph *graph, uint32_t index, char *text, size_t bytes);

/* gw_graph_rows_deinit frees what the writing of rows still holds; the rows are in the arena. */
void gw_graph_rows_deinit(struct gw_graph *graph);

#endif
