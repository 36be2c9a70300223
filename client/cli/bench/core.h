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

/* Called when at least `from` tasks have ended, and when `upto` have: with how many, exactly. */
struct gw_bench_core_span {
    uint64_t from, upto; /* of the tasks, in this order */
    void (*on_reached)(uint64_t ended, void *arg);
    void *arg;
};

/* gw_bench_core_span runs such a bag until `upto` of its tasks have ended, no further: what lies
 * between is one task placed for each that ends, as long as some wait for a place. */
int gw_bench_core_span(uint32_t tasks, uint32_t chunk, uint64_t workers,
                       const struct gw_bench_core_span *span);

/* gw_bench_core_live submits a bag that two workers never end: by how many bytes a task this
 * process grew, the six bytes of its arguments included. */
int gw_bench_core_live(uint32_t tasks, uint32_t chunk, double *bytes);

#endif
