/* Edges of graphs that are measured, in rows: node i takes from[at[i]] to from[at[i + 1] - 1], all
 * of them nodes before it. The same on every machine. */
#ifndef GW_CLI_BENCH_EDGES_H
#define GW_CLI_BENCH_EDGES_H

#include <gangway/graph.h>

struct gw_bench_edges {
    uint32_t nodes, *at, *from;
};

/* A binary reduction; leaves, merged 10,000 at a time, and the merges; one or two earlier nodes
 * each, drawn at random. 0 or GW_ENOMEM; gw_bench_edges_deinit frees in any case. */
int gw_bench_edges_tree(struct gw_bench_edges *edges, uint32_t nodes);
int gw_bench_edges_merge(struct gw_bench_edges *edges, uint32_t nodes);
int gw_bench_edges_random(struct gw_bench_edges *edges, uint32_t nodes);
void gw_bench_edges_deinit(struct gw_bench_edges *edges);

/* gw_bench_edges_graph makes the graph of bench_node calls (its errors stick); out: room for all
 * nodes. */
struct gw_graph *gw_bench_edges_graph(const struct gw_bench_edges *edges, gw_node *out);

#endif
