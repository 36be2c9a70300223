/* Memory of a waiting task and of an edge in the scheduler: the growth of the process by a job of a
 * million tasks that cannot start, without edges and with 1.5 edges for each task. The tasks have
 * no arguments, and the edges carry no value, because arguments need extra memory. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/edges.h"
#include "client/cli/bench/tasks.h"

#include <stdlib.h>

static struct gw_graph *make_graph(const struct gw_bench_edges *edges, bool with_edges,
                                   gw_node *last)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node *nodes = calloc(edges->nodes, sizeof *nodes);
    for (uint32_t i = 0; i < edges->nodes && nodes; i++) {
        nodes[i] = gw_call(graph, bench_nothing, NULL);
        for (uint32_t e = edges->at[i]; e < edges->at[i + 1] && with_edges; e++)
            gw_graph_after(graph, nodes[i], nodes[edges->from[e]]);
    }
    if (!nodes) {
        gw_graph_free(graph);
        return NULL;
    }
    *last = nodes[edges->nodes - 1];
    free(nodes);
    return graph;
}

/* Sends many queries, so that the scheduler's link has released its buffers for large frames.
 * Otherwise the measured size would depend on how much of them was touched. */
static int settle(struct gw_bench *bench, struct gw_client *client)
{
    enum { QUESTIONS = 100 };
    int rc = 0;
    for (int i = 0; i < QUESTIONS && rc == 0; i++) {
        struct gw_value *status;
        rc = gw_client_query(client, "status", NULL, &status, &bench->error);
        if (rc == 0)
            gw_value_unref(status);
    }
    return rc;
}

/* Measures the growth. A task that never ends holds the only slot, so that all other tasks wait. */
static int growth(struct gw_bench *bench, const struct gw_bench_edges *edges, bool with_edges,
                  double *bytes)
{
    struct gw_client *client;
    struct gw_future *hold = NULL, *future = NULL;
    uint64_t before, after;
    gw_node last = {0};
    int rc = gw_bench_open(bench, 1, 1, &client);
    if (rc < 0)
        return rc;
    pid_t pid = gw_bench_process_of_scheduler(client);
    rc = gw_submit(client, bench_hold, NULL, GW_ARGS(), &hold, &bench->error);
    if (rc == 0)
        rc = settle(bench, client);
    if (rc == 0)
        rc = gw_bench_process_bytes(bench, pid, &before);
    if (rc == 0) {
        struct gw_graph *graph = make_graph(edges, with_edges, &last);
        rc = gw_client_submit(client, graph, last, &future, &bench->error);
        gw_graph_free(graph);
    }
    if (rc == 0)
        rc = settle(bench, client);
    if (rc == 0)
        rc = gw_bench_process_bytes(bench, pid, &after);
    if (rc == 0)
        *bytes = (double)after - (double)before;
    gw_future_cancel(hold, true, NULL);
    gw_future_release(future);
    gw_future_release(hold);
    gw_client_close(client);
    return rc;
}

int gw_bench_memory(struct gw_bench *bench, double *figures)
{
    struct gw_bench_edges edges = {0};
    double alone, linked;
    int rc = gw_bench_edges_random(&edges, (uint32_t)gw_bench_count(bench, 1000000, 1));
    rc = rc < 0 ? gw_bench_no_memory(bench) : growth(bench, &edges, false, &alone);
    if (rc == 0)
        rc = growth(bench, &edges, true, &linked);
    if (rc == 0) {
        figures[0] = alone / edges.nodes;
        figures[1] = (linked - alone) / edges.at[edges.nodes];
    }
    gw_bench_edges_deinit(&edges);
    return rc;
}
