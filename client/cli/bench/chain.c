/* Chains: the time of a hop from one task to the next, in general and for each place where the next
 * task may run.
 *
 * The place is forced. With one slot, a chain stays in one runner. Tasks of two resource classes
 * (one slot and two slots) run in different runners. A large input makes the scheduler place a task
 * on the worker that has the input. Each hop checks the process in which it runs, and fails if that
 * is the wrong one. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <stdlib.h>

int gw_bench_chain(struct gw_bench *bench, double *figures)
{
    size_t hops = gw_bench_count(bench, 10000, 1);
    struct gw_client *client;
    struct gw_future *future;
    int64_t result = 0;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    struct gw_graph *graph = gw_graph_new();
    uint64_t begin_ns = gw_clock_now_ns();
    gw_node node = gw_call(graph, bench_next, NULL, gw_i64(0));
    for (size_t i = 1; i < hops; i++)
        node = gw_call(graph, bench_next, NULL, gw_result(node));
    rc = gw_client_submit(client, graph, node, &future, &bench->error);
    gw_graph_free(graph);
    if (rc == 0) {
        rc = gw_bench_get_i64(bench, future, &result);
        figures[0] = gw_bench_seconds_since(begin_ns) * 1e6 / (double)hops;
        gw_future_release(future);
    }
    if (rc == 0 && result != (int64_t)hops)
        rc = gw_bench_wrong(bench, hops);
    gw_client_close(client);
    return rc;
}

/* -- By place -----------------------------------------------------------------------------------
 */

struct kind {
    uint32_t slots, workers;
    bool same;    /* all hops run in one process */
    bool shapes;  /* every second hop needs two slots */
    bool anchors; /* inputs make every second hop run on the other worker */
};

static const struct kind kinds[] = {
    {.slots = 1, .workers = 1, .same = true},
    {.slots = 3, .workers = 1, .shapes = true},
    {.slots = 2, .workers = 2, .anchors = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ANCHOR_BYTES = 8192 };

struct chain {
    const struct kind *kind;
    struct gw_client *client;
    struct gw_future *anchors[2]; /* one result on each worker */
    size_t hops;
    double us;
};

static gw_node add_hop(const struct chain *chain, struct gw_graph *graph, size_t i, gw_node before)
{
    struct gw_value *values[3] = {gw_bool(chain->kind->same), i ? gw_result(before) : gw_i64(0)};
    size_t count = 2;
    if (chain->kind->anchors)
        values[count++] = gw_result_future(graph, chain->anchors[i % 2]);
    uint32_t slots = chain->kind->shapes && i % 2 ? 2 : 1;
    return gw_graph_call(graph, GW_FUNCTION(bench_hop), GW_OPTIONS(.slots = slots), values, count);
}

static int run(struct gw_bench *bench, struct chain *chain)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future;
    gw_node node = {0};
    int64_t result;
    for (size_t i = 0; i < chain->hops; i++)
        node = add_hop(chain, graph, i, node);
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_client_submit(chain->client, graph, node, &future, &bench->error);
    gw_graph_free(graph);
    if (rc < 0)
        return rc;
    rc = gw_bench_get_i64(bench, future, &result);
    chain->us = gw_bench_seconds_since(begin_ns) * 1e6 / (double)chain->hops;
    gw_future_release(future);
    if (rc == 0 && result >> GW_BENCH_PID_BITS != (int64_t)chain->hops)
        rc = gw_bench_wrong(bench, chain->hops);
    return rc;
}

/* Runs two tasks at the same time on two workers with one slot, so that each worker has one result.
 */
static int open_anchors(struct gw_bench *bench, struct chain *chain)
{
    gw_node nodes[2];
    struct gw_graph *graph = gw_graph_new();
    for (int i = 0; i < 2; i++)
        nodes[i] = gw_call(graph, bench_anchor, NULL, gw_i64(ANCHOR_BYTES + 8 * i));
    int rc =
        gw_client_submit_many(chain->client, graph, NULL, nodes, 2, chain->anchors, &bench->error);
    gw_graph_free(graph);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = gw_future_wait(chain->anchors[i], UINT64_MAX);
    return rc;
}

static int chain_open(struct gw_bench *bench, struct chain *chain, const struct kind *kind)
{
    *chain = (struct chain){.kind = kind, .hops = 200};
    int rc = gw_bench_open(bench, kind->slots, kind->workers, &chain->client);
    if (rc == 0 && kind->anchors)
        rc = open_anchors(bench, chain);
    if (rc == 0)
        rc = run(bench, chain); /* starts runners */
    chain->hops = gw_bench_count(bench, 2000, 100);
    return rc;
}

int gw_bench_chain_kinds(struct gw_bench *bench, double *figures)
{
    struct chain chains[KINDS] = {{0}};
    double us[KINDS][GW_BENCH_ROUNDS];
    size_t rounds = bench->quick ? 1 : GW_BENCH_ROUNDS;
    int rc = 0;
    for (int k = 0; k < KINDS && rc == 0; k++)
        rc = chain_open(bench, &chains[k], &kinds[k]);
    for (size_t i = 0; i < rounds; i++)
        for (int k = 0; k < KINDS && rc == 0; k++) {
            rc = run(bench, &chains[k]);
            us[k][i] = chains[k].us;
        }
    for (int k = 0; k < KINDS; k++) {
        if (rc == 0)
            figures[k] = gw_bench_median(us[k], rounds);
        for (int i = 0; i < 2; i++)
            gw_future_release(chains[k].anchors[i]);
        gw_client_close(chains[k].client);
    }
    return rc;
}
