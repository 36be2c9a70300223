/* Chains, trees and fans of short tasks, which are pipelined to the worker and the runner of their
 * inputs. Every value is checked. Argument: the subject, and a path of the test. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOPS = 3000, LEAVES = 512, BYTES = 20000 };

/* The sum of all arguments, plus one. */
static int sum(struct gw_task *task)
{
    int64_t total = 1;
    for (uint32_t i = 0; i < gw_task_arg_count(task); i++) {
        int64_t n;
        if (gw_task_arg_i64(task, i, &n) < 0)
            return GW_EINVAL;
        total += n;
    }
    return gw_task_return(task, gw_i64(total));
}
GW_TASK(sum);

/* Like sum, but the task with the result `bad` fails. */
static int sum_or_fail(struct gw_task *task)
{
    int64_t n, bad;
    if (gw_task_arg_i64(task, 0, &n) < 0 || gw_task_arg_i64(task, 1, &bad) < 0)
        return GW_EINVAL;
    if (n + 1 == bad)
        return gw_task_fail(task, GW_EIO, "%lld is bad", (long long)bad);
    return gw_task_return(task, gw_i64(n + 1));
}
GW_TASK(sum_or_fail);

/* Like sum, but some tasks kill their runner, once each: a file tells which did. */
static int sum_or_crash(struct gw_task *task)
{
    int64_t n;
    const char *path;
    char mark[4096];
    if (gw_task_arg_i64(task, 0, &n) < 0 || gw_task_arg_str(task, 1, &path) < 0)
        return GW_EINVAL;
    (void)snprintf(mark, sizeof mark, "%s.%lld", path, (long long)n);
    int fd = n % 700 == 350 ? open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        (void)raise(SIGKILL);
    return gw_task_return(task, gw_i64(n + 1));
}
GW_TASK(sum_or_crash);

/* Bytes, each one larger than before. */
static int raise_bytes(struct gw_task *task)
{
    const void *data;
    size_t bytes;
    if (gw_task_arg_bytes(task, 0, &data, &bytes) < 0)
        return GW_EINVAL;
    unsigned char *copy = malloc(bytes);
    if (!copy)
        return GW_ENOMEM;
    for (size_t i = 0; i < bytes; i++)
        copy[i] = (unsigned char)(((const unsigned char *)data)[i] + 1);
    int rc = gw_task_return(task, gw_bytes(copy, bytes));
    free(copy);
    return rc;
}
GW_TASK(raise_bytes);

static struct gw_client *client;

static struct gw_future *submit(struct gw_graph *graph, gw_node target)
{
    struct gw_future *future;
    MUST(gw_client_submit(client, graph, target, &future, &error));
    gw_graph_free(graph);
    return future;
}

static int64_t get(struct gw_future *future)
{
    const int64_t n = subject_i64(future, 0);
    gw_future_release(future);
    return n;
}

/* Runs twice: the second time it is known from the start that its tasks are short. */
static void subject_chain(const char *path)
{
    (void)path;
    for (int round = 0; round < 2; round++) {
        struct gw_graph *graph = gw_graph_new();
        gw_node node = gw_call(graph, sum, NULL, gw_i64(0));
        for (int i = 1; i < HOPS; i++)
            node = gw_call(graph, sum, NULL, gw_result(node));
        assert(get(submit(graph, node)) == HOPS);
    }
}

static void subject_tree(const char *path)
{
    static gw_node nodes[LEAVES];
    struct gw_graph *graph = gw_graph_new();
    (void)path;
    for (int i = 0; i < LEAVES; i++)
        nodes[i] = gw_call(graph, sum, NULL, gw_i64(i));
    for (int width = LEAVES; width > 1; width /= 2)
        for (int i = 0; i < width / 2; i++)
            nodes[i] =
                gw_call(graph, sum, NULL, gw_result(nodes[2 * i]), gw_result(nodes[2 * i + 1]));
    assert(get(submit(graph, nodes[0])) == LEAVES * (LEAVES - 1) / 2 + 2 * LEAVES - 1);
}

/* Waves: a task, many tasks that take its result, one that takes some of theirs, and so on. */
static void subject_fan(const char *path)
{
    enum { WAVES = 40, WIDTH = 12 };
    struct gw_graph *graph = gw_graph_new();
    int64_t want = 1;
    (void)path;
    gw_node node = gw_call(graph, sum, NULL, gw_i64(0));
    for (int wave = 0; wave < WAVES; wave++) {
        gw_node wide[WIDTH];
        for (int i = 0; i < WIDTH; i++)
            wide[i] = gw_call(graph, sum, NULL, gw_result(node), gw_i64(i));
        node = gw_call(graph, sum, NULL, gw_result(wide[0]), gw_result(wide[WIDTH - 1]),
                       gw_result(wide[WIDTH / 2]));
        want = (3 * want + 3 + (WIDTH - 1) + WIDTH / 2 + 1) % 1000003;
        node = gw_call(graph, sum, NULL, gw_result(node), gw_i64(-1));
        if (wave % 8 == 7) { /* before it overflows */
            int64_t got = get(submit(graph, node));
            assert(got % 1000003 == want);
            graph = gw_graph_new();
            node = gw_call(graph, sum, NULL, gw_i64(0));
            want = 1;
        }
    }
    gw_graph_free(graph);
}

static void subject_failure(const char *path)
{
    struct gw_future *last, *first;
    struct gw_value *value;
    (void)path;
    subject_chain(path);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, sum_or_fail, NULL, gw_i64(0), gw_i64(1500)), before = node;
    for (int i = 1; i < HOPS; i++) {
        node = gw_call(graph, sum_or_fail, NULL, gw_result(node), gw_i64(1500));
        if (i == 1498)
            before = node;
    }
    gw_node targets[] = {before, node};
    struct gw_future *futures[2];
    MUST(gw_client_submit_many(client, graph, NULL, targets, 2, futures, &error));
    gw_graph_free(graph);
    first = futures[0];
    last = futures[1];
    assert(gw_future_get(last, 0, &value, &error) == GW_EDEPENDENCY);
    assert(strstr(error.text, "1500 is bad"));
    assert(get(first) == 1499);
    gw_future_release(last);
}

static void subject_crash(const char *path)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, sum_or_crash, NULL, gw_i64(0), gw_str(path));
    for (int i = 1; i < HOPS; i++)
        node = gw_call(graph, sum_or_crash, NULL, gw_result(node), gw_str(path));
    assert(get(submit(graph, node)) == HOPS);
    int marks = 0;
    for (int64_t n = 350; n < HOPS; n += 700) {
        char mark[4096];
        (void)snprintf(mark, sizeof mark, "%s.%lld", path, (long long)n);
        marks += unlink(mark) == 0;
    }
    assert(marks == 4);
}

static void subject_large(const char *path)
{
    static char zeros[BYTES];
    struct gw_value *value;
    const void *data;
    size_t bytes;
    (void)path;
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, raise_bytes, NULL, gw_bytes(zeros, BYTES));
    for (int i = 1; i < 200; i++)
        node = gw_call(graph, raise_bytes, NULL, gw_result(node));
    struct gw_future *future = submit(graph, node);
    MUST(gw_future_get(future, 0, &value, &error));
    MUST(gw_value_get_bytes(value, &data, &bytes, &error));
    assert(bytes == BYTES);
    for (size_t i = 0; i < bytes; i++)
        assert(((const unsigned char *)data)[i] == 200);
    gw_value_unref(value);
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    static const struct subject list[] = {
        {"chain", subject_chain},     {"tree", subject_tree},   {"fan", subject_fan},
        {"failure", subject_failure}, {"crash", subject_crash}, {"large", subject_large},
    };
    const struct subjects subjects = {.options = GW_CLIENT_OPTIONS(.slots = 3, .workers = 2),
                                      .client = &client,
                                      .list = list,
                                      .count = sizeof list / sizeof *list};
    return subjects_main(&subjects, argc, argv);
}
