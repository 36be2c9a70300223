/* The tasks of `gangway bench`. They run in runners, which are processes of this same binary. */
#include "client/cli/bench/tasks.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes a result. Every GW_BENCH_TELLS-th result also contains the number of this process. */
static struct gw_value *told(int64_t i, int64_t result)
{
    if (gw_bench_tells(i))
        result = GW_BENCH_TOLD | result << GW_BENCH_PID_BITS | getpid();
    return gw_i64(result);
}

static int bench_noop(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    return rc < 0 ? rc : gw_task_return(task, told(i, gw_bench_expected(i)));
}
GW_TASK(bench_noop);

static int bench_node(struct gw_task *task)
{
    int64_t i, input, sum = 0;
    int rc = gw_task_arg_i64(task, 0, &i);
    for (uint32_t k = 1; k < gw_task_arg_count(task) && rc == 0; k++) {
        rc = gw_task_arg_i64(task, k, &input);
        sum += rc == 0 ? gw_bench_plain(input) : 0;
    }
    return rc < 0 ? rc : gw_task_return(task, told(i, gw_bench_node_value(i, sum)));
}
GW_TASK(bench_node);

static int bench_next(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(i + 1));
}
GW_TASK(bench_next);

static int bench_when(struct gw_task *task)
{
    return gw_task_return(task, gw_i64((int64_t)gw_clock_now_ns()));
}
GW_TASK(bench_when);

static int bench_nothing(struct gw_task *task)
{
    return gw_task_return(task, gw_nil());
}
GW_TASK(bench_nothing);

static int bench_hold(struct gw_task *task)
{
    for (;;)
        (void)pause();
    return gw_task_return(task, gw_nil());
}
GW_TASK(bench_hold);

/* A hop is a count and the number of the process that made it. Hops of one runner must stay in one
 * process, and other hops must change it. Otherwise the task fails, because the measurement would
 * be wrong. */
static int bench_hop(struct gw_task *task)
{
    bool same;
    int64_t hop;
    if (gw_task_arg_bool(task, 0, &same) < 0 || gw_task_arg_i64(task, 1, &hop) < 0)
        return GW_EINVAL;
    int64_t mask = (INT64_C(1) << GW_BENCH_PID_BITS) - 1, pid = hop & mask;
    if (pid && (pid == getpid()) != same)
        return gw_task_fail(task, GW_EMISMATCH, "hop %lld ran in %s process",
                            (long long)(hop >> GW_BENCH_PID_BITS), same ? "another" : "the same");
    return gw_task_return(task,
                          gw_i64(((hop >> GW_BENCH_PID_BITS) + 1) << GW_BENCH_PID_BITS | getpid()));
}
GW_TASK(bench_hop);

static int bench_anchor(struct gw_task *task)
{
    int64_t bytes;
    int rc = gw_task_arg_i64(task, 0, &bytes);
    void *memory = rc == 0 ? calloc(1, (size_t)bytes) : NULL;
    if (rc == 0)
        rc = memory ? gw_task_return(task, gw_bytes(memory, (size_t)bytes))
                    : gw_task_fail(task, GW_ENOMEM, "out of memory");
    free(memory);
    return rc;
}
GW_TASK(bench_anchor);

static int bench_spin(struct gw_task *task)
{
    int64_t steps, i, input, sum = 0;
    if (gw_task_arg_i64(task, 0, &steps) < 0 || gw_task_arg_i64(task, 1, &i) < 0)
        return GW_EINVAL;
    for (uint32_t k = 2; k < gw_task_arg_count(task); k++) {
        if (gw_task_arg_i64(task, k, &input) < 0)
            return GW_EINVAL;
        sum += input;
    }
    return gw_task_return(task, gw_i64(gw_bench_spin(steps, gw_bench_node_value(i, sum))));
}
GW_TASK(bench_spin);

/* -- One large result ----------------------------------------------------------------------------
 */

/* gw_task_return copies the bytes. Therefore the clock is read after it, and the time is written to
 * a file. */
static int bench_produce(struct gw_task *task)
{
    int64_t bytes, seed;
    const char *path;
    if (gw_task_arg_i64(task, 0, &bytes) < 0 || gw_task_arg_i64(task, 1, &seed) < 0 ||
        gw_task_arg_str(task, 2, &path) < 0)
        return GW_EINVAL;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    uint64_t *words = malloc((size_t)bytes), now_ns;
    int rc = fd >= 0 && words ? 0 : gw_task_fail(task, GW_EIO, "%s: %s", path, strerror(errno));
    for (int64_t i = 0; i < bytes / 8 && rc == 0; i++)
        words[i] = (uint64_t)(seed + i);
    if (rc == 0)
        rc = gw_task_return(task, gw_bytes(words, (size_t)bytes));
    free(words);
    now_ns = gw_clock_now_ns();
    if (rc == 0 && pwrite(fd, &now_ns, sizeof now_ns, 0) != sizeof now_ns)
        rc = gw_task_fail(task, GW_EIO, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}
GW_TASK(bench_produce);

/* Adds up the words. memcpy is used because the bytes of a value may be unaligned. */
static uint64_t sum_of(const void *words, size_t count)
{
    uint64_t sum = 0, word;
    for (size_t i = 0; i < count; i++) {
        memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
        sum += word;
    }
    return sum;
}

static int bench_consume(struct gw_task *task)
{
    uint64_t started_ns = gw_clock_now_ns();
    const void *data;
    size_t bytes;
    int rc = gw_task_arg_bytes(task, 0, &data, &bytes);
    if (rc < 0)
        return rc;
    uint64_t begin_ns = gw_clock_now_ns();
    uint64_t sum = sum_of(data, bytes / 8), read_ns = gw_clock_now_ns() - begin_ns;

    char *from = malloc(bytes), *to = malloc(bytes);
    if (!from || !to) {
        free(from);
        free(to);
        return gw_task_fail(task, GW_ENOMEM, "out of memory");
    }
    memcpy(from, data, bytes);
    memset(to, 1, bytes); /* so that its pages exist */
    begin_ns = gw_clock_now_ns();
    memcpy(to, from, bytes);
    uint64_t memcpy_ns = gw_clock_now_ns() - begin_ns;
    bool equal = memcmp(to, data, bytes) == 0; /* also keeps the compiler from removing the copy */
    free(from);
    free(to);
    if (!equal)
        return gw_task_fail(task, GW_ECORRUPT, "the copy differs from the original");

    struct gw_value *list = gw_list();
    const uint64_t items[] = {started_ns, read_ns, memcpy_ns, sum};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        gw_list_push(list, gw_i64((int64_t)items[i]));
    return gw_task_return(task, list);
}
GW_TASK(bench_consume);

/* -- Gangs ---------------------------------------------------------------------------------------
 */

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
        return gw_task_fail(task, GW_EINVAL, "the number of rounds must be 1 to %d", ROUNDS_MAX);
    int rc = gw_comm_alloc(comm, (size_t)bytes, &memory, error);
    for (int64_t i = -1; i < rounds && rc == 0;
         i++) { /* round -1 is a warm-up, which touches the pages */
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
