/* Crowds: very many tasks at once that fail, wait, or follow one another. `crowd WHAT COUNT
 * [FIFO]`; prints "ok". */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gw_client *client;

static int refuse(struct gw_task *task)
{
    return gw_task_fail(task, GW_EIO, "never");
}
GW_TASK(refuse);

/* Fails with a long text: a million such texts are too much to be sent at once. */
static int refuse_at_length(struct gw_task *task)
{
    return gw_task_fail(task, GW_EIO, "never, %0500d", 7);
}
GW_TASK(refuse_at_length);

/* (n, ...): n + 1. */
static int next(struct gw_task *task)
{
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(n + 1));
}
GW_TASK(next);

/* (path): blocks until a line is written to a fifo. */
static int block(struct gw_task *task)
{
    const char *path;
    char byte;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    FILE *fifo = fopen(path, "r");
    if (!fifo || fread(&byte, 1, 1, fifo) != 1)
        return gw_task_fail(task, GW_EIO, "cannot read %s", path);
    fclose(fifo);
    return gw_task_return(task, gw_i64(1));
}
GW_TASK(block);

static int no_args(size_t i, struct gw_value **args, void *arg)
{
    args[0] = gw_i64((int64_t)i);
    (void)arg;
    return 0;
}

/* All tasks fail at once: each future has the reason, and so have all tasks that wait for a failed
 * one. */
static void fail(size_t count)
{
    struct gw_future **futures = calloc(count, sizeof *futures), *first;
    gw_node *nodes = calloc(count, sizeof *nodes);
    struct gw_value *value;
    const struct gw_map_call call = GW_INIT(gw_map_call, .function = GW_FUNCTION(refuse),
                                            .count = count, .arg_count = 1, .make_args = no_args);
    CHECK(gw_map(client, &call, futures, &error) == 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(gw_future_get(futures[i], 0, &value, &error) == GW_ETASK);
        CHECK(strstr(error.text, "never"));
        gw_future_release(futures[i]);
    }

    struct gw_graph *graph = gw_graph_new();
    gw_node cause = gw_call(graph, refuse_at_length, NULL);
    for (size_t i = 0; i < count; i++)
        nodes[i] = gw_call(graph, next, NULL, gw_result(cause));
    CHECK(gw_client_submit_many(client, graph, NULL, nodes, count, futures, &error) == 0);
    gw_graph_free(graph);
    for (size_t i = 0; i < count; i++) {
        CHECK(gw_future_get(futures[i], 0, &value, &error) == GW_EDEPENDENCY);
        CHECK(strstr(error.text, "never"));
        gw_future_release(futures[i]);
    }
    CHECK(gw_submit(client, next, NULL, GW_ARGS(gw_i64(1)), &first, &error) == 0);
    CHECK(gw_future_get(first, 0, &value, &error) == 0);
    gw_value_unref(value);
    gw_future_release(first);
    free(futures);
    free(nodes);
}

/* A graph in which all tasks wait for one that blocks. Prints "there", and waits for it. */
static void wait_for_one(size_t count, const char *fifo)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future;
    struct gw_value *value;
    gw_node one = gw_call(graph, block, NULL, gw_str(fifo)), last = one;
    for (size_t i = 0; i < count; i++)
        last = i % 2 ? gw_call(graph, next, NULL, gw_result(one), gw_result(last))
                     : gw_call(graph, next, NULL, gw_result(one));
    CHECK(gw_client_submit(client, graph, last, &future, &error) == 0);
    gw_graph_free(graph);
    puts("there");
    fflush(stdout);
    CHECK(gw_future_get(future, 0, &value, &error) == 0);
    gw_value_unref(value);
    gw_future_release(future);
}

static void chain(size_t count)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future;
    struct gw_value *value;
    int64_t n;
    gw_node last = gw_call(graph, next, NULL, gw_i64(0));
    for (size_t i = 1; i < count; i++)
        last = gw_call(graph, next, NULL, gw_result(last));
    CHECK(gw_client_submit(client, graph, last, &future, &error) == 0);
    gw_graph_free(graph);
    CHECK(gw_future_get(future, 0, &value, &error) == 0);
    CHECK(gw_value_get_i64(value, &n, &error) == 0 && n == (int64_t)count);
    gw_value_unref(value);
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (count == 0)
        return 2;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(what, "fail") == 0)
        fail(count);
    else if (strcmp(what, "wait") == 0 && argc == 4)
        wait_for_one(count, argv[3]);
    else if (strcmp(what, "chain") == 0)
        chain(count);
    else
        return 2;
    gw_client_close(client);
    puts("ok");
    return 0;
}
