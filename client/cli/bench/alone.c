/* The scheduler's core without processes: tasks each second, and memory for ten million unfinished
 * tasks. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/core.h"

int gw_bench_alone(struct gw_bench *bench, double *figures)
{
    enum { RUN_TASKS = 1000000, LIVE_TASKS = 10000000, CHUNK = 20000, WORKERS = 2, ROUNDS = 3 };
    double rates[ROUNDS];
    size_t tasks = gw_bench_count(bench, RUN_TASKS, 1), rounds = bench->quick ? 1 : ROUNDS;
    int rc = gw_bench_core_live((uint32_t)gw_bench_count(bench, LIVE_TASKS, 1), CHUNK, &figures[1]);
    for (size_t i = 0; i < rounds && rc == 0; i++) {
        struct gw_bench_core_run run;
        rc = gw_bench_core_run((uint32_t)tasks, CHUNK, WORKERS, &run);
        rates[i] = (double)tasks * 1e9 / (double)(run.submit_ns + run.finish_ns);
    }
    if (rc == 0)
        figures[0] = gw_bench_median(rates, rounds);
    if (rc == GW_EIO)
        return gw_error_set(&bench->error, rc,
                            "cannot read from /proc how much memory this process uses");
    return rc < 0 ? gw_bench_no_memory(bench) : 0;
}
