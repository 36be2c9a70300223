/* The scheduler's core alone, in this process, with workers that answer at once; core.c. Also what
 * tests/bench/sched_bench is made of. Not thread safe; GW_ENOMEM where memory is out, GW_EIO where
 * /proc does not tell. */
#ifndef GW_CLI_BENCH_CORE_H
#define GW_CLI_BENCH_CORE_H

#include <stdint.h>

struct gw_bench_core_run {
    uint64_t submit_ns, finish_ns, steps; /* of all tasks */
};

/* gw_bench_core_run runs a bag of so many tasks, submitted in chunks, on workers of one slot. */
int gw_bench_core_run(uint32_t tasks, uint32_t chunk, uint64_t workers,
                      struct gw_bench_core_run *run);

/* gw_bench_core_live submits a bag that two workers never end: by how many bytes a task this
 * process grew, the six bytes of its arguments included. */
int gw_bench_core_live(uint32_t tasks, uint32_t chunk, double *bytes);

#endif
