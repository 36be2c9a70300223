/* Calls the C API on a real cluster; each subject is a function with asserts. Argument: the
 * subject. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Task functions ------------------------------------------------------------------------------
 */

static int square(struct gw_task *task)
{
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(n * n));
}
GW_TASK(square);

/* Bytes of a size, each the low byte of its index plus a seed. */
static int make_bytes(struct gw_task *task)
{
    int64_t bytes, seed;
    if (gw_task_arg_i64(task, 0, &bytes) < 0 || gw_task_arg_i64(task, 1, &seed) < 0)
        return GW_EINVAL;
    unsigned char *data = malloc((size_t)bytes + 1);
    if (!data)
        return GW_ENOMEM;
    for (int64_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i + seed);
    int rc = gw_task_return(task, gw_bytes(data, (size_t)bytes));
    free(data);
    return rc;
}
GW_TASK(make_bytes);

static int sum_bytes(struct gw_task *task)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < gw_task_arg_count(task); i++) {
        const void *data;
        size_t bytes;
        if (gw_task_arg_bytes(task, i, &data, &bytes) < 0)
            return GW_EINVAL;
        for (size_t k = 0; k < bytes; k++)
            sum += ((const unsigned char *)data)[k];
    }
    return gw_task_return(task, gw_i64(sum));
}
GW_TASK(sum_bytes);

static int rank_times(struct gw_task *task)
{
    int64_t factor;
    if (gw_task_arg_i64(task, 0, &factor) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64((int64_t)gw_task_rank(task) * factor));
}
GW_TASK(rank_times);

static int sum_list(struct gw_task *task)
{
    struct gw_value *list;
    if (gw_task_arg_value(task, 0, &list) < 0)
        return GW_EINVAL;
    int64_t sum = 0, n;
    for (size_t i = 0; i < gw_value_count(list); i++) {
        if (gw_value_get_i64(gw_value_at(list, i), &n, gw_task_error(task)) < 0)
            return GW_EINVAL;
        sum += n * (int64_t)(i + 1);
    }
    return gw_task_return(task, gw_i64(sum));
}
GW_TASK(sum_list);

/* -- Subjects ------------------------------------------------------------------------------------
 */

static struct gw_client *client;

static int square_args(size_t i, struct gw_value **args, void *arg)
{
    (void)arg;
    args[0] = gw_i64((int64_t)i);
    return 0;
}

/* Futures may be released at once. */
static void subject_map_released(void)
{
    enum { COUNT = 200 };
    struct gw_future *futures[COUNT];
    const struct gw_map_call call =
        GW_INIT(gw_map_call, .function = GW_FUNCTION(square), .count = COUNT, .arg_count = 1,
                .make_args = square_args);
    MUST(gw_map(client, &call, futures, &error));
    struct gw_completions *completions;
    MUST(gw_completions_new(futures, COUNT, &completions));
    size_t index;
    for (size_t i = 0; i < COUNT; i++) {
        MUST(gw_completions_next(completions, UINT64_MAX, &index));
        assert(subject_i64(futures[index], 0) == (int64_t)(index * index));
        gw_future_release(futures[index]);
    }
    gw_completions_free(completions);
}

static void subject_map(const char *path)
{
    enum { COUNT = 5000 };
    static struct gw_future *futures[COUNT];
    static struct gw_value *values[COUNT];
    static char seen[COUNT];
    (void)path;
    const struct gw_map_call call =
        GW_INIT(gw_map_call, .function = GW_FUNCTION(square), .count = COUNT, .arg_count = 1,
                .make_args = square_args);
    MUST(gw_map(client, &call, futures, &error));
    struct gw_completions *completions;
    MUST(gw_completions_new(futures, COUNT, &completions));
    size_t index;
    for (size_t i = 0; i < COUNT; i++) {
        MUST(gw_completions_next(completions, UINT64_MAX, &index));
        assert(index < COUNT && !seen[index]++);
    }
    assert(gw_completions_next(completions, UINT64_MAX, &index) == GW_ENOENT);
    gw_completions_free(completions);
    subject_map_released();
    MUST(gw_gather(client, futures, COUNT, values, &error));
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t n;
        MUST(gw_value_get_i64(values[i], &n, &error));
        assert(n == i * i);
        gw_value_unref(values[i]);
    }
    MUST(gw_future_wait_any(futures, COUNT, UINT64_MAX, &index));
    for (size_t i = 0; i < COUNT; i++)
        gw_future_release(futures[i]);
}

/* Values by every path: inline and by descriptor; as results, inputs and arguments. */
static void subject_large(const char *path)
{
    static const int64_t sizes[] = {0, 1, 4000, 4096, 4097, 70000, 300000, 5000000};
    (void)path;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t expected = 0;
        for (int64_t k = 0; k < sizes[i]; k++)
            expected += (unsigned char)(k + 1) + (unsigned char)(k + 2);
        struct gw_graph *graph = gw_graph_new();
        gw_node a = gw_call(graph, make_bytes, NULL, gw_i64(sizes[i]), gw_i64(1));
        gw_node b = gw_call(graph, make_bytes, NULL, gw_i64(sizes[i]), gw_i64(2));
        gw_node sum = gw_call(graph, sum_bytes, NULL, gw_result(a), gw_result(b));
        struct gw_future *futures[2];
        const gw_node nodes[] = {a, sum};
        MUST(gw_client_submit_many(client, graph, NULL, nodes, 2, futures, &error));
        assert(subject_i64(futures[1], 0) == expected);

        struct gw_value *value;
        const void *data;
        size_t bytes;
        MUST(gw_future_get(futures[0], 0, &value, &error));
        MUST(gw_value_get_bytes(value, &data, &bytes, &error));
        assert(bytes == (size_t)sizes[i]);
        assert(bytes == 0 || ((const unsigned char *)data)[bytes - 1] == (unsigned char)bytes);

        /* The same bytes as an argument, and scattered, twice into one task. */
        struct gw_future *again, *scattered;
        MUST(gw_submit(client, sum_bytes, NULL, GW_ARGS(gw_bytes(data, bytes)), &again, &error));
        MUST(gw_scatter(client, value, &scattered, &error));
        struct gw_graph *second = gw_graph_new();
        gw_node both = gw_call(second, sum_bytes, NULL, gw_result_future(second, scattered),
                               gw_result_future(second, futures[0]));
        struct gw_future *twice;
        MUST(gw_client_submit(client, second, both, &twice, &error));
        assert(subject_i64(twice, 0) == 2 * subject_i64(again, 0));
        gw_value_unref(value);
        gw_future_release(again);
        gw_future_release(scattered);
        gw_future_release(twice);
        gw_future_release(futures[0]);
        gw_future_release(futures[1]);
        gw_graph_free(graph);
        gw_graph_free(second);
    }
}

/* A gang as a node: N results, and the values of one rank and of all ranks in later tasks. */
static void subject_gang(const char *path)
{
    (void)path;
    struct gw_future *future;
    MUST(gw_dispatch(client, 3, rank_times, NULL, GW_ARGS(gw_i64(10)), &future, &error));
    for (uint32_t rank = 0; rank < 3; rank++)
        assert(subject_i64(future, rank) == rank * 10);
    struct gw_value *none;
    assert(gw_future_get(future, 3, &none, &error) == GW_EINVAL);
    gw_future_release(future);

    struct gw_graph *graph = gw_graph_new();
    gw_node n = gw_call(graph, square, NULL, gw_i64(3));
    gw_node gang = gw_call(graph, rank_times, GW_GANG(.ranks = 3), gw_result(n));
    gw_node one = gw_call(graph, square, NULL, gw_result_rank(gang, 2));
    gw_node all = gw_call(graph, sum_list, NULL, gw_result_all(gang));
    gw_graph_after(graph, all, one);
    const gw_node nodes[] = {one, all};
    struct gw_future *futures[2];
    MUST(gw_client_submit_many(client, graph, NULL, nodes, 2, futures, &error));
    assert(subject_i64(futures[0], 0) == 18 * 18);
    assert(subject_i64(futures[1], 0) == 9 * 2 + 18 * 3);
    gw_future_release(futures[0]);
    gw_future_release(futures[1]);
    gw_graph_free(graph);
}

static void subject_cancel(const char *path)
{
    struct gw_future *future, *queued;
    struct gw_graph *graph = gw_graph_new();
    gw_node first = gw_call(graph, hang, GW_OPTIONS(.grace_ns = 100000000), gw_str(path));
    gw_node second = gw_call(graph, square, NULL, gw_result(first));
    const gw_node nodes[] = {first, second};
    struct gw_future *futures[2];
    MUST(gw_client_submit_many(client, graph, NULL, nodes, 2, futures, &error));
    future = futures[0];
    queued = futures[1];
    char line[32] = "";
    int pid = 0;
    subject_hear(path, line, sizeof line); /* waits until the task runs */
    assert(sscanf(line, "hangs %d", &pid) == 1 && pid > 0);
    assert(gw_future_wait(future, 1000000) == GW_ETIMEDOUT);
    MUST(gw_future_cancel(future, false, &error));
    struct gw_value *value;
    assert(gw_future_get(future, 0, &value, &error) == GW_ECANCELLED);
    assert(gw_future_get(queued, 0, &value, &error) < 0);
    assert(gw_future_state(queued) == GW_FAILED);
    gw_future_release(future);
    gw_future_release(queued);
    gw_graph_free(graph);
    struct gw_future *next; /* the slot is free again */
    MUST(gw_submit(client, square, NULL, GW_ARGS(gw_i64(4)), &next, &error));
    assert(subject_i64(next, 0) == 16);
    gw_future_release(next);
}

/* A gentle cancel stops all ranks of a gang at the same step. */
static void subject_stop(const char *path)
{
    struct gw_future *future;
    struct gw_value *value;
    MUST(gw_dispatch(client, 2, march, NULL, GW_ARGS(gw_str(path)), &future, &error));
    subject_hear(path, NULL, 0); /* waits until the ranks run */
    MUST(gw_future_cancel(future, false, &error));
    assert(gw_future_get(future, 0, &value, &error) == GW_ECANCELLED);
    gw_future_release(future);
    long long steps[2];
    for (int rank = 0; rank < 2; rank++) {
        char name[4096];
        int rc;
        (void)snprintf(name, sizeof name, "%s.%d", path, rank);
        FILE *file = fopen(name, "r");
        assert(file && fscanf(file, "%d %lld", &rc, &steps[rank]) == 2 && rc == GW_STOP);
        (void)fclose(file);
        (void)unlink(name);
    }
    assert(steps[0] == steps[1]);
}

static void subject_retry(const char *path)
{
    struct gw_future *future;
    struct gw_value *value;
    char file[4096];
    (void)snprintf(file, sizeof file, "%s.made", path);
    MUST(gw_submit(client, need_file, GW_OPTIONS(.retries = 2), GW_ARGS(gw_str(file)), &future,
                   &error));
    assert(gw_future_get(future, 0, &value, &error) == GW_ETASK);
    assert(strstr(error.text, "is not there"));
    subject_make_file(file);
    MUST(gw_future_retry(future, &error));
    MUST(gw_future_get(future, 0, &value, &error));
    gw_value_unref(value);
    gw_future_release(future);
    (void)unlink(file);
}

/* An event loop drives the client: it sleeps only at the descriptor. */
static void subject_loop(const char *path)
{
    enum { AT_ONCE = 4, IN_ALL = 100 };
    struct gw_completions *completions;
    struct gw_future *futures[IN_ALL];
    struct gw_value *value;
    struct pollfd fd = {.events = POLLIN};
    size_t index, submitted = 0, ended = 0;
    int64_t n, sum = 0;
    (void)path;
    MUST(gw_client_descriptor(client, &fd.fd, &error));
    assert(gw_completions_new(NULL, 0, &completions) == 0);
    while (ended < IN_ALL) {
        for (; submitted < IN_ALL && submitted < ended + AT_ONCE; submitted++) {
            MUST(gw_submit(client, square, NULL, GW_ARGS(gw_i64((int64_t)submitted)),
                           &futures[submitted], &error));
            assert(gw_completions_add(completions, futures[submitted], &index) == 0);
        }
        assert(poll(&fd, 1, -1) == 1);
        gw_client_descriptor_clear(client);
        for (; gw_completions_next(completions, 0, &index) == 0; ended++) {
            MUST(gw_future_get_within(futures[index], 0, 0, &value, &error));
            MUST(gw_value_get_i64(value, &n, &error));
            sum += n;
            gw_value_unref(value);
            gw_future_release(futures[index]);
        }
    }
    assert(sum == (int64_t)(IN_ALL - 1) * IN_ALL * (2 * IN_ALL - 1) / 6);
    gw_completions_free(completions);
}

int main(int argc, char **argv)
{
    static const struct subject list[] = {
        {"map", subject_map},       {"large", subject_large}, {"gang", subject_gang},
        {"cancel", subject_cancel}, {"retry", subject_retry}, {"stop", subject_stop},
        {"loop", subject_loop},
    };
    const struct subjects subjects = {.options = GW_CLIENT_OPTIONS(.slots = 3, .workers = 2),
                                      .client = &client,
                                      .list = list,
                                      .count = sizeof list / sizeof *list};
    return subjects_main(&subjects, argc, argv);
}
