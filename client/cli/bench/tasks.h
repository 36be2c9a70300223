/* The functions that `gangway bench` runs as tasks. */
#ifndef GW_CLI_BENCH_TASKS_H
#define GW_CLI_BENCH_TASKS_H

#include <gangway/task.h>

/* gw_bench_expected is the result of a no-op task for its argument, so that every result can be
 * checked. Every GW_BENCH_TELLS-th result also contains the number of its process, to verify that
 * several runners work. */
enum { GW_BENCH_TELLS = 64, GW_BENCH_PID_BITS = 22 };
#define GW_BENCH_TOLD (INT64_C(1) << 62)

static inline int64_t gw_bench_expected(int64_t i)
{
    return 3 * i + 1;
}

static inline bool gw_bench_tells(int64_t i)
{
    return i % GW_BENCH_TELLS == GW_BENCH_TELLS - 1;
}

/* Removes the process number from a result that contains one. */
static inline int64_t gw_bench_plain(int64_t result)
{
    return result & GW_BENCH_TOLD ? (result & ~GW_BENCH_TOLD) >> GW_BENCH_PID_BITS : result;
}

/* The result of a graph node, for its number and the sum of its inputs. */
static inline int64_t gw_bench_node_value(int64_t i, int64_t sum)
{
    return (gw_bench_expected(i) + 5 * sum) & 0x7fffffff;
}

/* The kernel of METG: `steps` steps of arithmetic, each of which depends on the step before it. */
static inline int64_t gw_bench_spin(int64_t steps, int64_t seed)
{
    uint64_t x = (uint64_t)seed;
    for (int64_t i = 0; i < steps; i++) {
        x = x * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(x)); /* keeps the compiler from removing the step */
    }
    return (int64_t)(x & 0x7fffffff);
}

GW_TASK_DECLARE(bench_noop);    /* (i) returns gw_bench_expected(i) */
GW_TASK_DECLARE(bench_node);    /* (i, inputs...) returns gw_bench_node_value(i, their sum) */
GW_TASK_DECLARE(bench_next);    /* (i) returns i + 1 */
GW_TASK_DECLARE(bench_when);    /* () returns the monotonic clock at its start */
GW_TASK_DECLARE(bench_nothing); /* () returns nil */
GW_TASK_DECLARE(bench_hold);    /* () runs until it is killed */
GW_TASK_DECLARE(bench_hop);     /* (same, hop) returns the next hop; see tasks.c */
GW_TASK_DECLARE(
    bench_anchor); /* (bytes) returns a result of this size, which attracts tasks to its worker */
GW_TASK_DECLARE(bench_spin);    /* (steps, i, inputs...) returns a point of a stencil */
GW_TASK_DECLARE(bench_produce); /* (bytes, seed, path) returns bytes; writes its end time to path */
GW_TASK_DECLARE(bench_consume); /* (bytes) returns [started ns, read ns, memcpy ns, sum] */
GW_TASK_DECLARE(bench_first);   /* gang: one all-reduce of one number; returns the sum */
GW_TASK_DECLARE(bench_all_reduce); /* gang: (bytes, rounds) returns rank 0's median time in ms */

#endif
