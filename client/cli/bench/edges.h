/* Edges of the graphs that `gangway bench` measures, stored by node: the inputs of node i are
 * from[at[i]] to from[at[i + 1] - 1], which are earlier nodes. The edges are the same on every
 * machine. */
#ifndef GW_CLI_BENCH_EDGES_H
#define GW_CLI_BENCH_EDGES_H

#include <gangway/graph.h>

struct gw_bench_edges {
    uint32_t nodes, *at, *from;
};

/* gw_bench_edges_tree makes a binary reduction. gw_bench_edges_merge makes leaves, which are merged
 * 10,000 at a time, and merges the results. gw_bench_edges_random gives each node one or two random
 * earlier nodes as inputs. They return 0 or GW_ENOMEM. Always call gw_bench_edges_deinit, also
 * after a failure. */
int gw_bench_edges_tree(struct gw_bench_edges *edges, uint32_t nodes);
int gw_bench_edges_merge(struct gw_bench_edges *edges, uint32_t nodes);
int gw_bench_edges_random(struct gw_bench_edges *edges, uint32_t nodes);
void gw_bench_edges_deinit(struct gw_bench_edges *edges);

/* gw_bench_edges_graph makes a graph of calls of bench_node. Errors are stored in the graph. `out`
 * has room for all nodes. */
struct gw_graph *gw_bench_edges_graph(const struct gw_bench_edges *edges, gw_node *out);

#endif
