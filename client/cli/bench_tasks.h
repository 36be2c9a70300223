/* The functions that `gangway bench` runs as tasks. */
#ifndef GW_CLI_BENCH_TASKS_H
#define GW_CLI_BENCH_TASKS_H

#include <gangway/task.h>

/* What a no-op task gives for its argument, so that every result can be checked. */
static inline int64_t gw_bench_expected(int64_t i)
{
    return 3 * i + 1;
}

GW_TASK_DECLARE(bench_noop);       /* (i) gives gw_bench_expected(i) */
GW_TASK_DECLARE(bench_next);       /* (i) gives i + 1 */
GW_TASK_DECLARE(bench_first);      /* gang: one all-reduce of one number; gives the sum */
GW_TASK_DECLARE(bench_all_reduce); /* gang: (bytes, rounds) gives rank 0's median, in ms */

#endif
