/* Tasks of `gangway bench`; they run in runners, which are this same binary. */
#include "client/cli/bench_tasks.h"

#include "graph/base/clock.h"

#include <stdlib.h>

static int bench_noop(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(gw_bench_expected(i)));
}
GW_TASK(bench_noop);

static int bench_next(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(i + 1));
}
GW_TASK(bench_next);

static int bench_first(struct gw_task *task)
{
    double sum = (double)gw_task_rank(task) + 1;
    int rc = gw_comm_all_reduce(
        gw_task_comm(task),
        GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_F64, .reduce = GW_REDUCE_SUM),
        gw_task_error(task));
    return rc < 0 ? rc : gw_task_return(task, gw_f64(sum));
}
GW_TASK(bench_first);

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int bench_all_reduce(struct gw_task *task)
{
    enum { ROUNDS_MAX = 64 };
    double times_ms[ROUNDS_MAX];
    int64_t bytes, rounds;
    void *memory;
    struct gw_comm *comm = gw_task_comm(task);
    struct gw_error *error = gw_task_error(task);
    if (gw_task_arg_i64(task, 0, &bytes) < 0 || gw_task_arg_i64(task, 1, &rounds) < 0)
        return GW_EINVAL;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return gw_task_fail(task, GW_EINVAL, "rounds is 1 to %d", ROUNDS_MAX);
    int rc = gw_comm_alloc(comm, (size_t)bytes, &memory, error);
    for (int64_t i = -1; i < rounds && rc == 0; i++) { /* the first round touches the pages */
        rc = gw_comm_barrier(comm, error);
        uint64_t begin_ns = gw_clock_now_ns();
        if (rc == 0)
            rc = gw_comm_all_reduce(comm,
                                    GW_COMM_ARGS(.recv = memory, .count = (size_t)bytes / 4,
                                                 .dtype = GW_DTYPE_F32, .reduce = GW_REDUCE_SUM),
                                    error);
        if (i >= 0)
            times_ms[i] = (double)(gw_clock_now_ns() - begin_ns) / GW_NS_PER_MS;
    }
    if (rc < 0)
        return rc;
    qsort(times_ms, (size_t)rounds, sizeof *times_ms, by_size);
    return gw_task_return(task, gw_f64(times_ms[rounds / 2]));
}
GW_TASK(bench_all_reduce);
