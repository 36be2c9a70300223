/* METG(50%) of stencil_1d: the smallest average granularity of tasks (time x cores / tasks) at
 * which at least half of the best rate of useful work is reached (Slaughter et al., Task Bench, SC
 * 2020). The inputs of a point in step t are its left, own and right neighbours in step t - 1. The
 * kernel is a chain of dependent arithmetic, so that its rate is that of one core. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <stdlib.h>

enum { CORES = 2, COLUMNS = 4, SIZES = 11, STEPS_MAX = 1000 };

struct stencil {
    struct gw_client *client;
    uint32_t steps;
    int64_t spins; /* of each task */
};

/* One measurement: granularity in microseconds, and rate in spins each second. */
struct point {
    double us, rate;
};

static int64_t number_of(uint32_t step, uint32_t column)
{
    return (int64_t)step * COLUMNS + column;
}

static struct gw_graph *make_graph(const struct stencil *stencil, gw_node last[COLUMNS])
{
    struct gw_graph *graph = gw_graph_new();
    gw_node before[COLUMNS] = {{0}};
    for (uint32_t step = 0; step < stencil->steps; step++) {
        for (uint32_t c = 0; c < COLUMNS; c++) {
            struct gw_value *values[5] = {gw_i64(stencil->spins), gw_i64(number_of(step, c))};
            size_t count = 2;
            for (uint32_t k = c ? c - 1 : 0; k <= c + 1 && k < COLUMNS && step > 0; k++)
                values[count++] = gw_result(before[k]);
            last[c] = gw_graph_call(graph, GW_FUNCTION(bench_spin), NULL, values, count);
        }
        for (uint32_t c = 0; c < COLUMNS; c++)
            before[c] = last[c];
    }
    return graph;
}

/* Computes the expected results of the last step. */
static void expect(const struct stencil *stencil, int64_t values[COLUMNS])
{
    int64_t before[COLUMNS] = {0};
    for (uint32_t step = 0; step < stencil->steps; step++) {
        for (uint32_t c = 0; c < COLUMNS; c++) {
            int64_t sum = 0;
            for (uint32_t k = c ? c - 1 : 0; k <= c + 1 && k < COLUMNS && step > 0; k++)
                sum += before[k];
            values[c] = gw_bench_spin(stencil->spins, gw_bench_node_value(number_of(step, c), sum));
        }
        for (uint32_t c = 0; c < COLUMNS; c++)
            before[c] = values[c];
    }
}

static int run(struct gw_bench *bench, const struct stencil *stencil, struct point *point)
{
    struct gw_future *futures[COLUMNS];
    gw_node last[COLUMNS];
    int64_t results[COLUMNS], expected[COLUMNS];
    struct gw_graph *graph = make_graph(stencil, last);
    uint64_t begin_ns = gw_clock_now_ns();
    int rc =
        gw_client_submit_many(stencil->client, graph, NULL, last, COLUMNS, futures, &bench->error);
    gw_graph_free(graph);
    if (rc < 0)
        return rc;
    for (uint32_t c = 0; c < COLUMNS && rc == 0; c++)
        rc = gw_bench_get_i64(bench, futures[c], &results[c]);
    double seconds = gw_bench_seconds_since(begin_ns), tasks = (double)stencil->steps * COLUMNS;
    for (uint32_t c = 0; c < COLUMNS; c++)
        gw_future_release(futures[c]);
    expect(stencil, expected);
    for (uint32_t c = 0; c < COLUMNS && rc == 0; c++)
        if (results[c] != expected[c])
            rc = gw_bench_wrong(bench, c);
    *point =
        (struct point){seconds * 1e6 * CORES / tasks, tasks * (double)stencil->spins / seconds};
    return rc;
}

static int64_t spins_per_ms(void)
{
    enum { SPINS = 1000000 };
    uint64_t begin_ns = gw_clock_now_ns(), best_ns = UINT64_MAX;
    for (int i = 0; i < 5; i++, begin_ns = gw_clock_now_ns()) {
        if (gw_bench_spin(SPINS, i) < 0)
            return 0; /* never true: this only uses the result */
        uint64_t ns = gw_clock_now_ns() - begin_ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    return (int64_t)(SPINS * GW_NS_PER_MS / (best_ns ? best_ns : 1));
}

/* Interpolates the granularity at which the rate falls to half of the best. */
static double metg(const struct point points[SIZES], size_t count)
{
    double best = 0;
    for (size_t i = 0; i < count; i++)
        best = points[i].rate > best ? points[i].rate : best;
    for (size_t i = 0; i + 1 < count; i++) { /* from large to small tasks */
        double high = points[i].rate / best, low = points[i + 1].rate / best;
        if (low < 0.5)
            return points[i + 1].us +
                   (points[i].us - points[i + 1].us) * (0.5 - low) / (high - low);
    }
    return points[count - 1].us;
}

int gw_bench_metg(struct gw_bench *bench, double *figures)
{
    struct gw_client *client;
    double results[GW_BENCH_ROUNDS];
    size_t rounds = bench->quick ? 1 : GW_BENCH_ROUNDS, sizes = bench->quick ? 4 : SIZES;
    int64_t per_ms = spins_per_ms();
    struct point point;
    int rc = gw_bench_open(bench, CORES, 1, &client);
    if (rc < 0)
        return rc;
    rc = run(bench, &(struct stencil){client, 20, 1}, &point); /* starts runners */
    for (size_t round = 0; round < rounds && rc == 0; round++) {
        struct point points[SIZES];
        for (size_t i = 0; i < sizes && rc == 0; i++) { /* 4 ms, 2 ms ... 4 us */
            uint32_t steps = bench->quick ? 10 : 20u << i;
            rc = run(bench,
                     &(struct stencil){client, steps < STEPS_MAX ? steps : STEPS_MAX,
                                       (4 * per_ms >> i) + 1},
                     &points[i]);
        }
        results[round] = rc == 0 ? metg(points, sizes) : 0;
    }
    if (rc == 0)
        figures[0] = gw_bench_median(results, rounds);
    gw_client_close(client);
    return rc;
}
