/* Edges of the graphs that `gangway bench` measures. */
#include "client/cli/bench/edges.h"

#include "client/cli/bench/tasks.h"

#include <stdlib.h>

enum { MERGED = 10000 };

static int edges_init(struct gw_bench_edges *edges, uint32_t nodes, uint32_t edges_max)
{
    edges->nodes = nodes;
    edges->at = calloc(nodes + 1, sizeof *edges->at);
    edges->from = calloc(edges_max + 1, sizeof *edges->from);
    return edges->at && edges->from ? 0 : GW_ENOMEM;
}

void gw_bench_edges_deinit(struct gw_bench_edges *edges)
{
    free(edges->at);
    free(edges->from);
}

int gw_bench_edges_tree(struct gw_bench_edges *edges, uint32_t nodes)
{
    uint32_t leaves = (nodes + 1) / 2, count = 0;
    nodes = 2 * leaves - 1;
    if (edges_init(edges, nodes, 2 * nodes) < 0)
        return GW_ENOMEM;
    for (uint32_t i = 0; i < nodes; i++) {
        edges->at[i] = count;
        if (i >= leaves) { /* the next two nodes without a consumer */
            edges->from[count++] = 2 * (i - leaves);
            edges->from[count++] = 2 * (i - leaves) + 1;
        }
    }
    edges->at[nodes] = count;
    return 0;
}

/* A task has at most 16,384 inputs. Therefore every MERGED leaves have a merge node, and the last
 * node merges the merge nodes. */
int gw_bench_edges_merge(struct gw_bench_edges *edges, uint32_t nodes)
{
    uint32_t count = 0;
    if (edges_init(edges, nodes, nodes) < 0)
        return GW_ENOMEM;
    for (uint32_t i = 0; i < nodes; i++) {
        bool last = i == nodes - 1;
        edges->at[i] = count;
        if (i % (MERGED + 1) == MERGED || last)
            for (uint32_t k = i - i % (MERGED + 1); k < i; k++)
                edges->from[count++] = k;
        for (uint32_t k = MERGED; k < i && last; k += MERGED + 1)
            edges->from[count++] = k;
    }
    edges->at[nodes] = count;
    return 0;
}

int gw_bench_edges_random(struct gw_bench_edges *edges, uint32_t nodes)
{
    uint64_t random = 1;
    uint32_t count = 0;
    if (edges_init(edges, nodes, 2 * nodes) < 0)
        return GW_ENOMEM;
    for (uint32_t i = 0; i < nodes; i++) {
        edges->at[i] = count;
        for (uint32_t k = 0; k < 1 + i % 2 && i > 1; k++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t from = (uint32_t)((random >> 33) % i);
            if (k == 0 || from != edges->from[count - 1])
                edges->from[count++] = from;
        }
    }
    edges->at[nodes] = count;
    return 0;
}

struct gw_graph *gw_bench_edges_graph(const struct gw_bench_edges *edges, gw_node *out)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_value **values = calloc(edges->nodes + 1, sizeof(struct gw_value *));
    for (uint32_t i = 0; i < edges->nodes && values; i++) {
        size_t count = 0;
        values[count++] = gw_i64(i);
        for (uint32_t e = edges->at[i]; e < edges->at[i + 1]; e++)
            values[count++] = gw_result(out[edges->from[e]]);
        out[i] = gw_graph_call(graph, GW_FUNCTION(bench_node), NULL, values, count);
    }
    if (!values) {
        gw_graph_free(graph);
        return NULL; /* the submission then fails with GW_ENOMEM */
    }
    free(values);
    return graph;
}
