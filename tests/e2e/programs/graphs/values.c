/* The client API on a real cluster: large values in both directions, references, failures, retries,
 * completions, gangs that need more slots than there are. `values WHAT`; prints "ok". */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 5 << 20 };

static struct gw_client *client;

/* (n): n bytes of a pattern. */
static int make(struct gw_task *task)
{
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    unsigned char *data = malloc((size_t)n + 1);
    for (int64_t i = 0; data && i < n; i++)
        data[i] = (unsigned char)(i * 7);
    int rc = data ? gw_task_return(task, gw_bytes(data, (size_t)n)) : GW_ENOMEM;
    free(data);
    return rc;
}
GW_TASK(make);

/* (bytes...): how many of these bytes follow the pattern. */
static int count(struct gw_task *task)
{
    int64_t right = 0;
    for (uint32_t k = 0; k < gw_task_arg_count(task); k++) {
        const void *data;
        size_t bytes;
        if (gw_task_arg_bytes(task, k, &data, &bytes) < 0)
            return GW_EINVAL;
        for (size_t i = 0; i < bytes; i++)
            right += ((const unsigned char *)data)[i] == (unsigned char)(i * 7);
    }
    return gw_task_return(task, gw_i64(right));
}
GW_TASK(count);

/* (path): fails until the file exists. */
static int wants_file(struct gw_task *task)
{
    const char *path;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    if (access(path, F_OK) < 0)
        return gw_task_fail(task, GW_EIO, "there is no %s", path);
    return gw_task_return(task, gw_str("found"));
}
GW_TASK(wants_file);

static int forever(struct gw_task *task)
{
    while (pause() == -1)
        continue;
    return 0;
}
GW_TASK(forever);

static int world(struct gw_task *task)
{
    return gw_task_return(task, gw_i64(gw_task_world(task) * 100 + gw_task_rank(task)));
}
GW_TASK(world);

static struct gw_value *pattern(size_t bytes)
{
    unsigned char *data = malloc(bytes);
    for (size_t i = 0; data && i < bytes; i++)
        data[i] = (unsigned char)(i * 7);
    struct gw_value *value = gw_bytes_copy(data, bytes);
    free(data);
    return value;
}

/* Values of every storage kind: inline, in slabs, in files of their own. */
static void large(void)
{
    static const size_t sizes[] = {0, 1, 10, 4000, 4096, 5000, 65536, 300000, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw_future *made, *counted, *sent, *put;
        struct gw_value *value, *mine = pattern(sizes[i]);
        CHECK(gw_submit(client, make, NULL, GW_ARGS(gw_i64((int64_t)sizes[i])), &made, &error) ==
              0);
        CHECK(gw_future_get(made, 0, &value, &error) == 0);
        CHECK(gw_value_equal(value, mine));
        gw_value_unref(value);

        struct gw_graph *graph = gw_graph_new();
        gw_node node =
            gw_call(graph, count, NULL, gw_result_future(graph, made), gw_value_ref(mine));
        CHECK(gw_client_submit(client, graph, node, &counted, &error) == 0);
        CHECK(subject_i64(counted, 0) == 2 * (int64_t)sizes[i]);
        gw_graph_free(graph);

        CHECK(gw_scatter(client, mine, &put, &error) == 0);
        CHECK(gw_future_get(put, 0, &value, &error) == 0);
        CHECK(gw_value_equal(value, mine));
        graph = gw_graph_new();
        node =
            gw_call(graph, count, NULL, gw_result_future(graph, put), gw_result_future(graph, put));
        CHECK(gw_client_submit(client, graph, node, &sent, &error) == 0);
        CHECK(subject_i64(sent, 0) == 2 * (int64_t)sizes[i]);
        gw_graph_free(graph);
        gw_value_unref(value);
        gw_value_unref(mine);
        gw_future_release(made);
        gw_future_release(counted);
        gw_future_release(put);
        gw_future_release(sent);
    }
}

/* ([bytes...]): the same for a list. */
static int count_list(struct gw_task *task)
{
    int64_t right = 0;
    struct gw_value *list;
    if (gw_task_arg_value(task, 0, &list) < 0)
        return GW_EINVAL;
    for (size_t k = 0; k < gw_value_count(list); k++) {
        const void *data;
        size_t bytes;
        if (gw_value_get_bytes(gw_value_at(list, k), &data, &bytes, gw_task_error(task)) < 0)
            return GW_EINVAL;
        for (size_t i = 0; i < bytes; i++)
            right += ((const unsigned char *)data)[i] == (unsigned char)(i * 7);
    }
    return gw_task_return(task, gw_i64(right));
}
GW_TASK(count_list);

/* Large values of ranks; other tasks take one or all of them, also inside lists. */
static void gang(void)
{
    enum { RANKS = 2, BYTES = 200000 };
    struct gw_future *futures[3];
    struct gw_value *value, *mine = pattern(BYTES), *list = gw_list();
    struct gw_graph *graph = gw_graph_new();
    gw_node made = gw_call(graph, make, GW_GANG(.ranks = RANKS), gw_i64(BYTES));
    gw_node all = gw_call(graph, count_list, NULL, gw_result_all(made));
    gw_list_push(list, gw_value_ref(mine));
    gw_list_push(list, gw_result_rank(made, 1));
    gw_node nested = gw_call(graph, count_list, GW_GANG(.ranks = RANKS), list);
    gw_graph_after(graph, nested, all);
    gw_node nodes[] = {made, all, nested};
    CHECK(gw_client_submit_many(client, graph, NULL, nodes, 3, futures, &error) == 0);
    gw_graph_free(graph);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CHECK(gw_future_get(futures[0], rank, &value, &error) == 0);
        CHECK(gw_value_equal(value, mine));
        gw_value_unref(value);
        CHECK(subject_i64(futures[2], rank) == 2 * BYTES);
    }
    CHECK(subject_i64(futures[1], 0) == RANKS * BYTES);
    gw_value_unref(mine);
    for (int i = 0; i < 3; i++)
        gw_future_release(futures[i]);
}

static int make_args(size_t i, struct gw_value **args, void *arg)
{
    args[0] = pattern(i % 100 == 0 ? 100000 : 10);
    return 0;
}

static void map(void)
{
    enum { CALLS = 2000 };
    static struct gw_future *futures[CALLS];
    struct gw_completions *completions;
    const struct gw_map_call call = GW_INIT(gw_map_call, .function = GW_FUNCTION(count),
                                            .count = CALLS, .arg_count = 1, .make_args = make_args);
    size_t index, seen = 0;
    CHECK(gw_map(client, &call, futures, &error) == 0);
    CHECK(gw_completions_new(futures, CALLS, &completions) == 0);
    while (gw_completions_next(completions, UINT64_MAX, &index) == 0) {
        CHECK(subject_i64(futures[index], 0) == (index % 100 == 0 ? 100000 : 10));
        seen++;
    }
    CHECK(seen == CALLS);
    gw_completions_free(completions);
    for (size_t i = 0; i < CALLS; i++)
        gw_future_release(futures[i]);
}

static void retry(void)
{
    char path[] = "retry-XXXXXX";
    struct gw_future *futures[2];
    struct gw_value *value;
    struct gw_graph *graph = gw_graph_new();
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    gw_node first = gw_call(graph, wants_file, NULL, gw_str(path));
    gw_node second = gw_call(graph, wants_file, NULL, gw_str("/"));
    gw_graph_after(graph, second, first);
    gw_node nodes[] = {first, second};
    CHECK(gw_client_submit_many(client, graph, NULL, nodes, 2, futures, &error) == 0);
    gw_graph_free(graph);
    CHECK(gw_future_get(futures[0], 0, &value, &error) == GW_ETASK);
    CHECK(strstr(error.text, "there is no retry-"));
    CHECK(gw_future_get(futures[1], 0, &value, &error) == GW_EDEPENDENCY);
    FILE *file = fopen(path, "w");
    CHECK(file && fclose(file) == 0);
    CHECK(gw_future_retry(futures[1], &error) ==
          0); /* together with the tasks that failed before it */
    CHECK(gw_future_get(futures[1], 0, &value, &error) == 0);
    gw_value_unref(value);
    CHECK(unlink(path) == 0);
    gw_future_release(futures[0]);
    gw_future_release(futures[1]);
    close(fd);
}

static void cancel(void)
{
    struct gw_future *future, *held;
    struct gw_value *value;
    CHECK(gw_submit(client, forever, NULL, GW_ARGS(), &future, &error) == 0);
    CHECK(gw_future_wait(future, 1000000) == GW_ETIMEDOUT);
    CHECK(gw_future_cancel(future, true, &error) == 0);
    CHECK(gw_future_get(future, 0, &value, &error) == GW_ECANCELLED);
    gw_future_release(future);
    /* The result is not needed any more: the task ends, and its slot is free for the next. */
    for (int i = 0; i < 8; i++) {
        CHECK(gw_submit(client, forever, GW_OPTIONS(.grace_ns = 1), GW_ARGS(), &future, &error) ==
              0);
        gw_future_release(future);
    }
    CHECK(gw_submit(client, count, NULL, GW_ARGS(), &held, &error) == 0);
    CHECK(subject_i64(held, 0) == 0);
    gw_future_release(held);
}

/* Gangs larger than the private cluster was at its start. */
static void grow(void)
{
    for (uint32_t ranks = 1; ranks <= 9; ranks += 4) {
        struct gw_future *future;
        CHECK(gw_dispatch(client, ranks, world, NULL, GW_ARGS(), &future, &error) == 0);
        for (uint32_t rank = 0; rank < ranks; rank++)
            CHECK(subject_i64(future, rank) == ranks * 100 + rank);
        gw_future_release(future);
    }
}

static void leave(void)
{
    struct gw_future *future;
    CHECK(gw_submit(client, forever, GW_OPTIONS(.grace_ns = 1), GW_ARGS(), &future, &error) == 0);
    gw_client_close(client); /* cancels unfinished tasks */
    client = NULL;
    CHECK(gw_future_state(future) == GW_FAILED);
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"large", large},   {"gang", gang}, {"map", map},    {"retry", retry},
                 {"cancel", cancel}, {"grow", grow}, {"leave", leave}};
    const struct gw_client_options options = GW_INIT(gw_client_options, .slots = 2);
    CHECK(gw_client_open(&options, &client, &error) == 0);
    bool ran = false;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            ran = true;
        }
    }
    gw_client_close(client);
    printf(ran ? "ok\n" : "no such test\n");
    return ran ? 0 : 2;
}
