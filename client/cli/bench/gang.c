/* Gangs: the time until a warm gang has done its first reduction, and the speed of a large
 * reduction. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

static int one_gang(struct gw_bench *bench, struct gw_client *client, double *milliseconds)
{
    struct gw_future *future;
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_dispatch(client, 4, bench_first, NULL, GW_ARGS(), &future, &bench->error);
    if (rc < 0)
        return rc;
    for (uint32_t rank = 0; rank < 4 && rc == 0; rank++) {
        struct gw_value *value;
        double sum = 0;
        rc = gw_future_get(future, rank, &value, &bench->error);
        if (rc < 0)
            break;
        rc = gw_value_get_f64(value, &sum, &bench->error);
        gw_value_unref(value);
        if (rc == 0 && sum != 1 + 2 + 3 + 4)
            rc = gw_bench_wrong(bench, rank);
    }
    *milliseconds = gw_bench_seconds_since(begin_ns) * 1e3;
    gw_future_release(future);
    return rc;
}

int gw_bench_gang(struct gw_bench *bench, double *figures)
{
    enum { ROUNDS_MAX = 51 };
    double times[ROUNDS_MAX], warm_up;
    size_t rounds = bench->quick ? 5 : ROUNDS_MAX;
    struct gw_client *client;
    int rc = gw_bench_open(bench, 4, 1, &client);
    if (rc < 0)
        return rc;
    rc = one_gang(bench, client, &warm_up);
    for (size_t i = 0; i < rounds && rc == 0; i++)
        rc = one_gang(bench, client, &times[i]);
    if (rc == 0)
        figures[0] = gw_bench_median(times, rounds);
    gw_client_close(client);
    return rc;
}

int gw_bench_gang_all_reduce(struct gw_bench *bench, double *figures)
{
    struct gw_client *client;
    struct gw_future *future;
    int64_t bytes = 105000000, rounds = bench->quick ? 3 : 21;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    rc = gw_dispatch(client, 2, bench_all_reduce, NULL, GW_ARGS(gw_i64(bytes), gw_i64(rounds)),
                     &future, &bench->error);
    if (rc == 0) {
        rc = gw_bench_get_f64(bench, future, &figures[0]);
        gw_future_release(future);
    }
    gw_client_close(client);
    return rc;
}
