/* Attached work whose scheduler is killed. `reconnect COUNTS GO MS` searches the scheduler for MS
 * ms: submits a graph of three tasks in a row, a map of eight and a large scattered value that a
 * task takes; each task appends its number to the file COUNTS, and the last of the row waits until
 * a line is written to the fifo GO. Prints "running" when the map has ended, and checks all values
 * when the row has ended. Prints "ok". */
#include "tests/e2e/programs/append.h"
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 8, BYTES = 1 << 20 };

static struct gw_client *client;

/* (number, counts, go or "", previous result): `number` more than the previous result, when it may
 * continue. */
static int step(struct gw_task *task)
{
    int64_t number, before = 0;
    const char *path, *go;
    char byte;
    if (gw_task_arg_i64(task, 0, &number) < 0 || gw_task_arg_str(task, 1, &path) < 0 ||
        gw_task_arg_str(task, 2, &go) < 0 || gw_task_arg_i64(task, 3, &before) < 0)
        return GW_EINVAL;
    int rc = append(task, path, "%lld\n", (long long)number);
    int fd = *go && rc == 0 ? open(go, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && read(fd, &byte, 1) < 0)
        rc = gw_task_fail(task, GW_EIO, "cannot wait");
    if (fd >= 0)
        close(fd);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(before + number));
}
GW_TASK(step);

/* (counts, bytes, previous result): their sum. */
static int sum(struct gw_task *task)
{
    const char *path;
    const void *data;
    size_t bytes;
    int64_t total;
    if (gw_task_arg_str(task, 0, &path) < 0 || gw_task_arg_bytes(task, 1, &data, &bytes) < 0 ||
        gw_task_arg_i64(task, 2, &total) < 0)
        return GW_EINVAL;
    for (size_t i = 0; i < bytes; i++)
        total += ((const uint8_t *)data)[i];
    int rc = append(task, path, "99\n");
    return rc < 0 ? rc : gw_task_return(task, gw_i64(total));
}
GW_TASK(sum);

static const char *counts;

static int make_args(size_t i, struct gw_value **args, void *arg)
{
    args[0] = gw_i64((int64_t)i + 10);
    args[1] = gw_str(counts);
    args[2] = gw_str("");
    args[3] = gw_i64(0);
    return 0;
}

/* A row of three tasks, the last of which waits. */
static struct gw_future *row(const char *go)
{
    struct gw_future *last;
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, step, NULL, gw_i64(1), gw_str(counts), gw_str(""), gw_i64(0));
    node = gw_call(graph, step, NULL, gw_i64(2), gw_str(counts), gw_str(""), gw_result(node));
    node = gw_call(graph, step, NULL, gw_i64(3), gw_str(counts), gw_str(go), gw_result(node));
    CHECK(gw_client_submit(client, graph, node, &last, &error) == 0);
    gw_graph_free(graph);
    return last;
}

/* Takes a scattered value, and the result of the row. */
static struct gw_future *sum_of(struct gw_future *scattered, struct gw_future *before)
{
    struct gw_future *future;
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, sum, NULL, gw_str(counts), gw_result_future(graph, scattered),
                           gw_result_future(graph, before));
    CHECK(gw_client_submit(client, graph, node, &future, &error) == 0);
    gw_graph_free(graph);
    return future;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[BYTES];
    gw_init(&argc, &argv);
    CHECK(argc == 4);
    counts = argv[1];
    memset(bytes, 1, sizeof bytes);
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .must_exist = true,
                .reconnect_ns = strtoull(argv[3], NULL, 10) * UINT64_C(1000000));
    CHECK(gw_client_open(&options, &client, &error) == 0);

    struct gw_future *calls[CALLS], *scattered;
    const struct gw_map_call map = GW_INIT(gw_map_call, .function = GW_FUNCTION(step),
                                           .count = CALLS, .arg_count = 4, .make_args = make_args);
    struct gw_value *block = gw_bytes(bytes, sizeof bytes);
    CHECK(gw_scatter(client, block, &scattered, &error) == 0);
    gw_value_unref(block);
    CHECK(gw_map(client, &map, calls, &error) == 0);
    for (int64_t i = 0; i < CALLS; i++)
        CHECK(subject_i64(calls[i], 0) == i + 10);
    struct gw_future *last = row(argv[2]), *total = sum_of(scattered, last);
    gw_future_release(scattered);
    printf("running\n");
    fflush(stdout);
    CHECK(subject_i64(last, 0) == 6);
    CHECK(subject_i64(total, 0) == BYTES + 6);
    for (int64_t i = 0; i < CALLS; i++)
        CHECK(subject_i64(calls[i], 0) == i + 10);
    gw_client_close(client);
    printf("ok\n");
    return 0;
}
