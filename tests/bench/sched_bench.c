/* sched_bench: how long the scheduler's core takes for a task, and what a live one takes in memory;
 * what is done stands in client/cli/bench/core.h.
 *
 *     sched_bench [tasks] [chunk] [workers]
 *     sched_bench --live [tasks] [chunk]      exits with 1 where 100 million would not fit 24 GiB
 */
#include "client/cli/bench/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t number(int argc, char **argv, int at, uint32_t otherwise)
{
    return argc > at ? (uint32_t)strtoul(argv[at], NULL, 10) : otherwise;
}

static int live(uint32_t tasks, uint32_t chunk)
{
    double bytes;
    if (tasks == 0 || chunk == 0 || gw_bench_core_live(tasks, chunk, &bytes) < 0)
        return 1;
    printf("%" PRIu32 " live tasks: %.1f bytes each; 100 million of them: %.1f GiB\n", tasks, bytes,
           bytes * 1e8 / (1 << 30));
    return bytes > 0 && bytes * 1e8 <= 24. * (1 << 30) ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct gw_bench_core_run run;
    if (argc > 1 && strcmp(argv[1], "--live") == 0)
        return live(number(argc, argv, 2, 10000000), number(argc, argv, 3, 20000));
    uint32_t tasks = number(argc, argv, 1, 1000000), chunk = number(argc, argv, 2, 20000);
    uint32_t workers = number(argc, argv, 3, 2);
    if (tasks == 0 || chunk == 0 || workers == 0 ||
        gw_bench_core_run(tasks, chunk, workers, &run) < 0)
        return 1;
    printf("%" PRIu32 " tasks, %" PRIu64 " steps: submit %" PRIu64 " ns, place and finish %" PRIu64
           " ns a task, %.0f tasks/s in all\n",
           tasks, run.steps, run.submit_ns / tasks, run.finish_ns / tasks,
           (double)tasks * 1e9 / (double)(run.submit_ns + run.finish_ns));
    return 0;
}
