/* The scheduler's core in this process, with simulated workers that answer at once.
 * tests/bench/sched_bench uses it too. Not thread-safe. Errors: GW_ENOMEM; GW_EIO: /proc cannot be
 * read. */
#ifndef GW_CLI_BENCH_CORE_H
#define GW_CLI_BENCH_CORE_H

#include <stdint.h>

struct gw_bench_core_run {
    uint64_t submit_ns, finish_ns, steps; /* sums over all tasks */
};

/* gw_bench_core_run runs a bag of `tasks` tasks, submitted in chunks, on workers with one slot. */
int gw_bench_core_run(uint32_t tasks, uint32_t chunk, uint64_t workers,
                      struct gw_bench_core_run *run);

/* on_reached is called twice: when at least `from` tasks have ended, and when at least `upto` have.
 * It gets the exact number. */
struct gw_bench_core_span {
    uint64_t from, upto; /* numbers of ended tasks; from <= upto */
    void (*on_reached)(uint64_t ended, void *arg);
    void *arg;
};

/* gw_bench_core_span runs a bag until `upto` of its tasks have ended, and stops there. Between
 * `from` and `upto`, one task is placed for each task that ends, while tasks wait. */
int gw_bench_core_span(uint32_t tasks, uint32_t chunk, uint64_t workers,
                       const struct gw_bench_core_span *span);

/* gw_bench_core_live submits a bag that its two workers never finish. *bytes is the growth of this
 * process for each task, including the six bytes of its arguments. */
int gw_bench_core_live(uint32_t tasks, uint32_t chunk, double *bytes);

#endif
