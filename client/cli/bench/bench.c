/* Functions that all groups of `gangway bench` share. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <stdlib.h>
#include <unistd.h>

int gw_bench_open(struct gw_bench *bench, uint32_t slots, uint32_t workers,
                  struct gw_client **client)
{
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .name = "bench", .private_cluster = true, .slots = slots,
                .workers = workers);
    struct gw_value *status;
    int rc = gw_client_open(&options, client, &bench->error);
    if (rc < 0)
        return rc;
    rc = gw_client_query(*client, "status", NULL, &status,
                         &bench->error); /* the first call starts the private cluster */
    if (rc == 0)
        gw_value_unref(status);
    else
        gw_client_close(*client);
    return rc;
}

size_t gw_bench_count(const struct gw_bench *bench, size_t full, size_t least)
{
    size_t count = bench->quick ? full / 100 : full;
    return count > least ? count : least;
}

double gw_bench_seconds_since(uint64_t begin_ns)
{
    return (double)(gw_clock_now_ns() - begin_ns) / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double gw_bench_median(double *items, size_t count)
{
    qsort(items, count, sizeof *items, by_size);
    return count % 2 ? items[count / 2] : (items[count / 2 - 1] + items[count / 2]) / 2;
}

int gw_bench_wrong(struct gw_bench *bench, size_t task)
{
    return gw_error_set(&bench->error, GW_ECORRUPT, "task %zu gave a wrong result", task);
}

int gw_bench_no_memory(struct gw_bench *bench)
{
    return gw_error_set(&bench->error, GW_ENOMEM, "out of memory");
}

int gw_bench_get_i64(struct gw_bench *bench, struct gw_future *future, int64_t *result)
{
    struct gw_value *value;
    int rc = gw_future_get(future, 0, &value, &bench->error);
    if (rc < 0)
        return rc;
    rc = gw_value_get_i64(value, result, &bench->error);
    gw_value_unref(value);
    return rc;
}

int gw_bench_get_f64(struct gw_bench *bench, struct gw_future *future, double *result)
{
    struct gw_value *value;
    int rc = gw_future_get(future, 0, &value, &bench->error);
    if (rc < 0)
        return rc;
    rc = gw_value_get_f64(value, result, &bench->error);
    gw_value_unref(value);
    return rc;
}

int64_t gw_bench_runners_see(struct gw_bench_runners *runners, int64_t result)
{
    if (!(result & GW_BENCH_TOLD))
        return result;
    pid_t pid = (pid_t)(result & ((1 << GW_BENCH_PID_BITS) - 1));
    uint32_t i = 0;
    while (i < runners->count && runners->pids[i] != pid)
        i++;
    if (i == runners->count && i < sizeof runners->pids / sizeof *runners->pids)
        runners->pids[runners->count++] = pid;
    return gw_bench_plain(result);
}

int gw_bench_runners_check(struct gw_bench *bench, const struct gw_bench_runners *runners)
{
    for (uint32_t i = 0; i < runners->count; i++)
        if (runners->pids[i] == getpid())
            return gw_error_set(
                &bench->error, GW_EMISMATCH,
                "a task ran inside this process instead of a runner: unset GANGWAY_INLINE");
    /* A quick measurement may end before the second runner has started. */
    if (runners->count < (bench->quick ? 1 : 2))
        return gw_error_set(
            &bench->error, GW_EMISMATCH,
            "only %u runners executed tasks, so the measurement is not valid: try again",
            runners->count);
    return 0;
}
