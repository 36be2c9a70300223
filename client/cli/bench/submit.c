/* A graph of a million tasks with 1.5 million edges: the time until the scheduler has accepted it,
 * and the time until its first task starts. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/edges.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <stdlib.h>

enum { EARLY = 16 };

/* Finds the earliest start of the first EARLY nodes, which return their start time. Runners are
 * already running. */
static int first_start(struct gw_bench *bench, struct gw_future *const *futures, uint64_t *first_ns)
{
    int rc = 0;
    *first_ns = UINT64_MAX;
    for (size_t i = 0; i < EARLY && rc == 0; i++) {
        int64_t at_ns;
        rc = gw_bench_get_i64(bench, futures[i], &at_ns);
        if (rc == 0 && (uint64_t)at_ns < *first_ns)
            *first_ns = (uint64_t)at_ns;
    }
    return rc;
}

static struct gw_graph *make_graph(uint32_t count, gw_node *nodes)
{
    struct gw_bench_edges edges = {0};
    struct gw_graph *graph = gw_graph_new();
    int rc = gw_bench_edges_random(&edges, count);
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        struct gw_value *values[3];
        size_t inputs = 0;
        if (i < EARLY) {
            nodes[i] = gw_call(graph, bench_when, NULL);
            continue;
        }
        values[inputs++] = gw_i64(i);
        for (uint32_t e = edges.at[i]; e < edges.at[i + 1]; e++)
            values[inputs++] = gw_result(nodes[edges.from[e]]);
        nodes[i] = gw_graph_call(graph, GW_FUNCTION(bench_node), NULL, values, inputs);
    }
    gw_bench_edges_deinit(&edges);
    if (rc == 0)
        return graph;
    gw_graph_free(graph);
    return NULL;
}

static int once(struct gw_bench *bench, struct gw_client *client, double *seconds,
                double *milliseconds)
{
    uint32_t count = (uint32_t)gw_bench_count(bench, 1000000, 1);
    struct gw_future *futures[EARLY + 1];
    gw_node *nodes = calloc(count, sizeof *nodes), wanted[EARLY + 1];
    uint64_t first_ns;
    if (!nodes)
        return gw_bench_no_memory(bench);
    struct gw_graph *graph = make_graph(count, nodes);
    for (size_t i = 0; i < EARLY; i++)
        wanted[i] = nodes[i];
    wanted[EARLY] = nodes[count - 1];
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_client_submit_many(client, graph, NULL, wanted, EARLY + 1, futures, &bench->error);
    *seconds = gw_bench_seconds_since(begin_ns);
    gw_graph_free(graph);
    free(nodes);
    if (rc < 0)
        return rc;
    rc = first_start(bench, futures, &first_ns);
    if (rc == 0)
        *milliseconds = (double)(first_ns - begin_ns) / GW_NS_PER_MS;
    uint64_t job = gw_future_job(futures[0]);
    if (rc == 0)
        rc = gw_job_cancel(client, job, false, &bench->error);
    for (size_t i = 0; i <= EARLY; i++)
        gw_future_release(futures[i]);
    if (rc == 0 && gw_job_wait(client, job, UINT64_MAX, &(int){0}, &bench->error) == GW_EIO)
        rc = GW_EIO;
    return rc;
}

/* Runs one task, so that a runner exists and the scheduler has finished the previous round. The
 * cancel of a round kills its busy runners, and the next round must not measure the start of new
 * ones. */
static int warm_up(struct gw_bench *bench, struct gw_client *client)
{
    struct gw_future *future;
    int64_t now_ns;
    int rc = gw_submit(client, bench_when, NULL, GW_ARGS(), &future, &bench->error);
    if (rc < 0)
        return rc;
    rc = gw_bench_get_i64(bench, future, &now_ns);
    gw_future_release(future);
    return rc;
}

int gw_bench_submit(struct gw_bench *bench, double *figures)
{
    enum { ROUNDS = 3 };
    struct gw_client *client;
    double seconds[ROUNDS], milliseconds[ROUNDS];
    size_t rounds = bench->quick ? 1 : ROUNDS;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < rounds && rc == 0; i++) {
        rc = warm_up(bench, client);
        if (rc == 0)
            rc = once(bench, client, &seconds[i], &milliseconds[i]);
    }
    if (rc == 0) {
        figures[0] = gw_bench_median(seconds, rounds);
        figures[1] = gw_bench_median(milliseconds, rounds);
    }
    gw_client_close(client);
    return rc;
}
