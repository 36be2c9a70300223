/* Graphs of no-op tasks: a tree, a merge, and a random graph with 1.5 edges for each task. All
 * nodes have different arguments and a future. Every result is compared with a result computed
 * here. The time runs from the creation of the first node until the last result was checked. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/edges.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <stdlib.h>

static int check(struct gw_bench *bench, const struct gw_bench_edges *edges,
                 struct gw_future *const *futures)
{
    struct gw_bench_runners runners = {0};
    int64_t *values = calloc(edges->nodes, sizeof *values), result;
    int rc = values ? 0 : gw_bench_no_memory(bench);
    for (uint32_t i = 0; i < edges->nodes && rc == 0; i++) {
        int64_t sum = 0;
        for (uint32_t e = edges->at[i]; e < edges->at[i + 1]; e++)
            sum += values[edges->from[e]];
        values[i] = gw_bench_node_value(i, sum);
        rc = gw_bench_get_i64(bench, futures[i], &result);
        if (rc == 0 && gw_bench_runners_see(&runners, result) != values[i])
            rc = gw_bench_wrong(bench, i);
    }
    free(values);
    return rc == 0 ? gw_bench_runners_check(bench, &runners) : rc;
}

static int run(struct gw_bench *bench, struct gw_client *client, const struct gw_bench_edges *edges,
               double *rate)
{
    struct gw_future **futures = calloc(edges->nodes, sizeof(struct gw_future *));
    gw_node *nodes = calloc(edges->nodes, sizeof *nodes);
    int rc = futures && nodes ? 0 : gw_bench_no_memory(bench);
    uint64_t begin_ns = gw_clock_now_ns();
    if (rc == 0) {
        struct gw_graph *graph = gw_bench_edges_graph(edges, nodes);
        rc =
            gw_client_submit_many(client, graph, NULL, nodes, edges->nodes, futures, &bench->error);
        gw_graph_free(graph);
    }
    bool submitted = rc == 0;
    if (rc == 0)
        rc = check(bench, edges, futures);
    *rate = edges->nodes / gw_bench_seconds_since(begin_ns);
    for (uint32_t i = 0; i < edges->nodes && submitted; i++)
        gw_future_release(futures[i]);
    free(futures);
    free(nodes);
    return rc;
}

int gw_bench_graphs(struct gw_bench *bench, double *figures)
{
    enum { KINDS = 3 };
    struct gw_client *client;
    struct gw_bench_edges edges[KINDS] = {{0}};
    double rates[KINDS][GW_BENCH_ROUNDS], warm_up;
    uint32_t nodes = (uint32_t)gw_bench_count(bench, 100000, 1);
    size_t rounds = bench->quick ? 1 : GW_BENCH_ROUNDS;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    if (gw_bench_edges_tree(&edges[0], nodes) < 0 || gw_bench_edges_merge(&edges[1], nodes) < 0 ||
        gw_bench_edges_random(&edges[2], nodes) < 0)
        rc = gw_bench_no_memory(bench);
    if (rc == 0)
        rc = run(bench, client, &edges[2], &warm_up);
    for (size_t i = 0; i < rounds; i++)
        for (int kind = 0; kind < KINDS && rc == 0; kind++)
            rc = run(bench, client, &edges[kind], &rates[kind][i]);
    for (int kind = 0; kind < KINDS; kind++) {
        figures[kind] = rc == 0 ? gw_bench_median(rates[kind], rounds) : 0;
        gw_bench_edges_deinit(&edges[kind]);
    }
    gw_client_close(client);
    return rc;
}
