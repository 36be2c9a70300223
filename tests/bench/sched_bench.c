/* sched_bench: measures the time of the scheduler core per task, and its memory per unfinished
 * task. client/cli/bench/core.h describes the measurement.
 *
 *     sched_bench [tasks] [chunk] [workers]
 *     sched_bench --live [tasks] [chunk]      exits with 1 if 100 million would not fit in 24 GiB
 *     sched_bench --instructions [workers]    for callgrind with --instr-atstart=no: dumps the
 *                                             instructions of a range of tasks, from the end of a
 *                                             task to the placement of the next
 */
#include "client/cli/bench/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

/* The windows of many workers hold a million tasks together. So many tasks run at the same time,
 * and some still wait when the last counted task has ended. */
enum { COUNTED_TASKS = 1300000, COUNTED_FROM = 100000, COUNTED_UPTO = 160000 };

struct counted {
    uint64_t from, upto;
    char name[64]; /* name of the dump */
};

static void count(uint64_t ended, void *arg)
{
    struct counted *counted = arg;
    if (!counted->from) {
        counted->from = ended;
        CALLGRIND_START_INSTRUMENTATION;
        return;
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS_AT(counted->name);
    counted->upto = ended;
}

static int instructions(uint32_t workers)
{
    struct counted counted = {0};
    struct gw_bench_core_span span = {COUNTED_FROM, COUNTED_UPTO, count, &counted};
    (void)snprintf(counted.name, sizeof counted.name, "core%" PRIu32 " scheduler", workers);
    if (workers == 0 || gw_bench_core_span(COUNTED_TASKS, 20000, workers, &span) < 0)
        return 1;
    printf("core%" PRIu32 " %" PRIu64 "\n", workers, counted.upto - counted.from);
    return 0;
}

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
    if (argc > 1 && strcmp(argv[1], "--instructions") == 0)
        return instructions(number(argc, argv, 2, 100));
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
