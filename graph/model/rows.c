/* Converts a graph to the rows of a submit message. The graph is validated and sorted so that
 * results are freed early. Then the rows are written in this order; for a large graph, a part of
 * the rows at a time. A dependency of a row is an earlier row, or a task of another job. */
#include "graph/model/graph_inside.h"

#include "graph/model/order.h"
#include "graph/wire/enums.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CYCLE_SHOWN_MAX = 8, LARGE_NODES = 1 << 15, HEAD_NODES = 1024, AHEAD = 8 };

static void edges_deinit(struct gw_graph_edges *edges)
{
    free(edges->at);
    free(edges->to);
    free(edges->rank);
}

static void writing_deinit(struct gw_graph_writing *writing)
{
    edges_deinit(&writing->edges);
    free(writing->order);
    writing->edges = (struct gw_graph_edges){0};
    writing->order = NULL;
}

void gw_graph_rows_deinit(struct gw_graph *graph)
{
    writing_deinit(&graph->writing);
}

/* deps_of returns the number of data dependencies of the first `count` nodes, args_of the number of
 * bytes of their arguments. Both are stored in the order of the nodes. */
static size_t deps_of(const struct gw_graph *graph, size_t count)
{
    for (; count < graph->nodes.count; count++) /* external nodes have no range of dependencies */
        if (graph->nodes.items[count].spec != GW_GRAPH_EXTERNAL)
            return graph->nodes.items[count].deps_at;
    return graph->deps.count;
}

static size_t args_of(const struct gw_graph *graph, size_t count)
{
    for (; count < graph->nodes.count; count++) /* external nodes have no arguments */
        if (graph->nodes.items[count].spec != GW_GRAPH_EXTERNAL)
            return graph->nodes.items[count].args_at;
    return graph->args.size;
}

/* Copies the edges of a graph without gw_graph_after: they are stored in the order of the nodes. */
static void edges_copy(struct gw_graph_edges *edges, const struct gw_graph *graph, size_t count,
                       bool external)
{
    const struct gw_graph_node *nodes = graph->nodes.items;
    uint32_t edge = 0;
    for (size_t i = 0; i < count; i++) {
        edges->at[i] = edge;
        for (uint32_t d = 0; d < nodes[i].dep_count; d++) {
            const struct gw_codec_dep *dep = &graph->deps.items[nodes[i].deps_at + d];
            if (!external && nodes[dep->index].spec == GW_GRAPH_EXTERNAL)
                continue;
            edges->to[edge] = dep->index;
            edges->rank[edge++] = dep->rank;
        }
    }
    edges->at[count] = edge;
}

/* Collects the edges of the first `count` nodes. Edges to external nodes are included only if
 * `external` is set. If `count` is not the number of all nodes, the graph has no edges of
 * gw_graph_after. */
static int edges_init(struct gw_graph_edges *edges, const struct gw_graph *graph, size_t count,
                      bool external)
{
    size_t room = deps_of(graph, count) + graph->after.count;
    *edges = (struct gw_graph_edges){calloc(count + 2, sizeof(uint32_t)),
                                     malloc((room + 1) * sizeof(uint32_t)),
                                     malloc((room + 1) * sizeof(uint32_t))};
    if (!edges->at || !edges->to || !edges->rank || room > UINT32_MAX)
        return GW_ENOMEM;
    if (graph->after.count == 0) {
        edges_copy(edges, graph, count, external);
        return 0;
    }

    const struct gw_graph_node *nodes = graph->nodes.items;
    const struct gw_graph_after_edge *after;
    uint32_t *at =
        edges->at +
        1; /* counts are stored one entry later, so that filling moves each start into place */
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < nodes[i].dep_count; d++)
            at[i + 1] += external || nodes[graph->deps.items[nodes[i].deps_at + d].index].spec !=
                                         GW_GRAPH_EXTERNAL;
    GW_ARRAY_EACH (&graph->after, after)
        at[after->node + 1] += external || nodes[after->before].spec != GW_GRAPH_EXTERNAL;
    for (size_t i = 0; i < count; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < nodes[i].dep_count; d++) {
            const struct gw_codec_dep *dep = &graph->deps.items[nodes[i].deps_at + d];
            if (!external && nodes[dep->index].spec == GW_GRAPH_EXTERNAL)
                continue;
            edges->to[at[i]] = dep->index;
            edges->rank[at[i]++] = dep->rank;
        }
    GW_ARRAY_EACH (&graph->after, after) {
        if (!external && nodes[after->before].spec == GW_GRAPH_EXTERNAL)
            continue;
        edges->to[at[after->node]] = after->before;
        edges->rank[at[after->node]++] = GW_DEP_AFTER;
    }
    return 0;
}

static int say_cycle(const struct gw_graph *graph, const uint32_t *cycle, uint32_t count,
                     struct gw_error *error)
{
    char path[GW_ERROR_TEXT_MAX] = "", one[96];
    size_t at = 0;
    for (uint32_t i = 0; i < count && i < CYCLE_SHOWN_MAX; i++)
        at += (size_t)snprintf(path + at, sizeof path - at, "%s -> ",
                               gw_graph_label(graph, cycle[i], one, sizeof one));
    if (count > CYCLE_SHOWN_MAX)
        (void)snprintf(path + at, sizeof path - at, "(%u more) -> ", count - CYCLE_SHOWN_MAX);
    return gw_error_set(error, GW_ECYCLE, "the graph has a cycle: %s%s", path,
                        gw_graph_label(graph, cycle[0], one, sizeof one));
}

/* Sorts the graph into `order`, which has room for all nodes. edges: all edges, or NULL. */
static int sort(const struct gw_graph *graph, const struct gw_graph_edges *edges, uint32_t *order,
                struct gw_error *error)
{
    struct gw_graph_edges inner = {0};
    uint32_t cycle;
    int rc = 0;
    if (!edges || graph->external_count > 0) {
        rc = edges_init(&inner, graph, graph->nodes.count, false);
        edges = &inner;
    }
    if (rc == 0) {
        struct gw_order_graph input = {(uint32_t)graph->nodes.count, edges->at, edges->to,
                                       graph->headed ? HEAD_NODES : 0};
        rc = gw_order_sort(&input, order, &cycle);
    }
    edges_deinit(&inner);
    if (rc == GW_ECYCLE)
        return say_cycle(graph, order, cycle, error);
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

/* Returns the first error of the graph, or GW_ENOMEM if there is no graph. */
static int stuck(const struct gw_graph *graph, struct gw_error *error)
{
    if (!graph)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (graph->error.code)
        return gw_error_set(error, graph->error.code, "%s", graph->error.text);
    return 0;
}

int gw_graph_check(struct gw_graph *graph, struct gw_error *error)
{
    int rc = stuck(graph, error);
    if (rc < 0 || graph->after.count ==
                      0) /* references alone only refer to earlier nodes: no cycle is possible */
        return rc;
    uint32_t *order = malloc((graph->nodes.count + 1) * sizeof *order);
    if (!order)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    rc = sort(graph, NULL, order, error);
    free(order);
    return rc;
}

/* Allocates the columns for the first `count` nodes. */
static int columns_alloc(struct gw_graph_columns *c, struct gw_graph *graph, size_t count)
{
    struct gw_arena *arena = &graph->arena;
    size_t nodes = count + 1;
    size_t deps = deps_of(graph, count) + graph->after.count + 1;
    *c = (struct gw_graph_columns){
        .row_of_node = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .spec = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .args_at = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .deps_at = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .names = gw_arena_alloc(arena, nodes * sizeof(char *)),
        .args = gw_arena_alloc(arena, args_of(graph, count) + 1),
        .dep_row = gw_arena_alloc(arena, deps * sizeof(uint32_t)),
        .dep_rank = gw_arena_alloc(arena, deps * sizeof(uint32_t)),
        .dep_job = gw_arena_alloc(arena, deps * sizeof(uint64_t)),
    };
    return c->row_of_node && c->spec && c->args_at && c->deps_at && c->names && c->args &&
                   c->dep_row && c->dep_rank && c->dep_job
               ? 0
               : GW_ENOMEM;
}

/* The data of a row can be anywhere in memory. Prefetches the data of later rows into the cache. */
static void prefetch(const struct gw_graph *graph, const struct gw_graph_edges *edges,
                     const uint32_t *order, size_t left)
{
    if (left > 2 * AHEAD) {
        __builtin_prefetch(&graph->nodes.items[order[2 * AHEAD]]);
        __builtin_prefetch(&edges->at[order[2 * AHEAD]]);
    }
    if (left > AHEAD) {
        const struct gw_graph_node *node = &graph->nodes.items[order[AHEAD]];
        __builtin_prefetch(graph->args.data + node->args_at);
        __builtin_prefetch(&edges->to[edges->at[order[AHEAD]]]);
        __builtin_prefetch(&edges->rank[edges->at[order[AHEAD]]]);
    }
}

/* Writes rows until `rows` rows, or all, are written. External nodes have no row. */
static void write_rows(struct gw_graph_writing *writing, const struct gw_graph *graph,
                       uint32_t rows)
{
    struct gw_graph_columns *c = &writing->columns;
    const struct gw_graph_edges *edges = &writing->edges;
    const bool any_external = graph->external_count > 0;
    uint32_t row = writing->row, args = writing->args, deps = writing->deps;
    size_t at = writing->at;
    for (; at < writing->nodes && row < rows; at++) {
        uint32_t index = writing->order[at];
        const struct gw_graph_node *node = &graph->nodes.items[index];
        prefetch(graph, edges, writing->order + at, writing->nodes - at);
        if (any_external && node->spec == GW_GRAPH_EXTERNAL)
            continue;
        c->spec[row] = node->spec;
        c->names[row] = node->name;
        memcpy(c->args + args, graph->args.data + node->args_at, node->args_bytes);
        args += (uint32_t)node->args_bytes;
        for (uint32_t e = edges->at[index]; e < edges->at[index + 1]; e++, deps++) {
            const struct gw_graph_node *dep = &graph->nodes.items[edges->to[e]];
            bool external = any_external && dep->spec == GW_GRAPH_EXTERNAL;
            c->dep_row[deps] = external ? dep->index : c->row_of_node[edges->to[e]];
            c->dep_job[deps] = external ? dep->job : 0;
            c->dep_rank[deps] = edges->rank[e];
            assert(external || c->dep_row[deps] < row);
        }
        row++;
        c->args_at[row] = args;
        c->deps_at[row] = deps;
    }
    writing->at = at;
    writing->row = row;
    writing->args = args;
    writing->deps = deps;
    if (at == writing->nodes)
        writing_deinit(writing);
}

/* Assigns a row to each node. Returns the number of rows. */
static uint32_t number_rows(struct gw_graph_writing *writing, const struct gw_graph *graph)
{
    uint32_t *row_of_node = writing->columns.row_of_node, rows = 0;
    for (size_t i = 0; i < writing->nodes; i++) {
        uint32_t node = writing->order[i];
        bool external = graph->external_count && graph->nodes.items[node].spec == GW_GRAPH_EXTERNAL;
        row_of_node[node] = external ? UINT32_MAX : rows++;
    }
    return rows;
}

static struct gw_graph_rows rows_of(const struct gw_graph *graph,
                                    const struct gw_graph_writing *writing, uint32_t count)
{
    const struct gw_graph_columns *columns = &writing->columns;
    return (struct gw_graph_rows){
        .count = count,
        .node_count = (uint32_t)writing->nodes,
        .row_of_node = columns->row_of_node,
        .specs = graph->specs.items,
        .spec_count = (uint32_t)graph->specs.count,
        .spec = columns->spec,
        .names = columns->names,
        .args_at = columns->args_at,
        .args = columns->args,
        .deps_at = columns->deps_at,
        .dep_row = columns->dep_row,
        .dep_rank = columns->dep_rank,
        .dep_job = columns->dep_job,
    };
}

/* Determines the order of the first `nodes` nodes and allocates memory for their rows. If these are
 * all nodes, they are sorted, else they keep their order. It writes no rows. */
static int writing_init(struct gw_graph_writing *writing, struct gw_graph *graph, size_t nodes,
                        struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc = 0;
    *writing =
        (struct gw_graph_writing){.nodes = nodes, .order = malloc((nodes + 1) * sizeof(uint32_t))};
    if (!writing->order || edges_init(&writing->edges, graph, nodes, true) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    else if (nodes == graph->nodes.count)
        rc = sort(graph, &writing->edges, writing->order, error);
    else
        for (uint32_t i = 0; i < nodes; i++)
            writing->order[i] = i;
    if (rc == 0 && graph->args.size > UINT32_MAX)
        rc = gw_error_set(error, GW_ELIMIT,
                          "the arguments of the graph have 4 GiB or more in total: pass large "
                          "values by gw_scatter");
    if (rc == 0 && columns_alloc(&writing->columns, graph, nodes) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0) {
        writing_deinit(writing);
        return rc;
    }
    writing->columns.args_at[0] = writing->columns.deps_at[0] = 0;
    *rows = rows_of(graph, writing, number_rows(writing, graph));
    return 0;
}

int gw_graph_rows_head(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error)
{
    struct gw_graph_writing writing;
    int rc = stuck(graph, error);
    *rows = (struct gw_graph_rows){0};
    if (rc < 0 || graph->sealed || graph->headed || graph->after.count > 0 ||
        graph->nodes.count < LARGE_NODES)
        return rc;
    rc = writing_init(&writing, graph, HEAD_NODES, rows, error);
    if (rc == 0) {
        write_rows(&writing, graph, UINT32_MAX);
        graph->headed = true;
    }
    return rc;
}

int gw_graph_rows_sort(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc = graph && graph->sealed ? 0 : stuck(graph, error);
    if (rc == 0 && !graph->sealed)
        rc = writing_init(&graph->writing, graph, graph->nodes.count, &graph->rows, error);
    if (rc < 0)
        return rc;
    graph->sealed = true;
    *rows = graph->rows;
    return 0;
}

void gw_graph_rows_write(struct gw_graph *graph, uint32_t rows)
{
    write_rows(&graph->writing, graph, rows);
}

int gw_graph_rows_seal(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc = gw_graph_rows_sort(graph, rows, error);
    if (rc == 0)
        gw_graph_rows_write(graph, UINT32_MAX);
    return rc;
}
