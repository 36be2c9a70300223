/* Graphs whose results exceed the memory. `memory WHAT ...`; prints what test_memory.py reads. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gw_client *client;

/* (seed, bytes): bytes that tell their position and seed. */
static int make(struct gw_task *task)
{
    int64_t seed, bytes;
    if (gw_task_arg_i64(task, 0, &seed) < 0 || gw_task_arg_i64(task, 1, &bytes) < 0)
        return GW_EINVAL;
    uint64_t *data = malloc((size_t)bytes);
    for (int64_t i = 0; data && i < bytes / 8; i++)
        data[i] = (uint64_t)seed * 1000003 + (uint64_t)i;
    int rc = data ? gw_task_return(task, gw_bytes_copy(data, (size_t)bytes)) : GW_ENOMEM;
    free(data);
    return rc;
}
GW_TASK(make);

/* (seed, bytes...): how many of these, made with seed, seed + 1 and so on, are correct. */
static int check(struct gw_task *task)
{
    int64_t seed, right = 0;
    if (gw_task_arg_i64(task, 0, &seed) < 0)
        return GW_EINVAL;
    for (uint32_t k = 1; k < gw_task_arg_count(task); k++) {
        const void *bytes;
        size_t size, i = 0;
        uint64_t word;
        if (gw_task_arg_bytes(task, k, &bytes, &size) < 0)
            return GW_EINVAL;
        for (; i < size / 8; i++) {
            memcpy(&word, (const char *)bytes + i * 8, sizeof word);
            if (word != (uint64_t)(seed + k - 1) * 1000003 + i)
                break;
        }
        right += i == size / 8;
    }
    return gw_task_return(task, gw_i64(right));
}
GW_TASK(check);

static int sum(struct gw_task *task)
{
    int64_t all = 0, one;
    for (uint32_t k = 0; k < gw_task_arg_count(task); k++) {
        if (gw_task_arg_i64(task, k, &one) < 0)
            return GW_EINVAL;
        all += one;
    }
    return gw_task_return(task, gw_i64(all));
}
GW_TASK(sum);

/* (bytes): allocates this much memory and retains it; if it is too much, until it is killed. */
static int hog(struct gw_task *task)
{
    static void *retained;
    int64_t bytes;
    if (gw_task_arg_i64(task, 0, &bytes) < 0)
        return GW_EINVAL;
    bool much = bytes > 64 << 20;
    for (char *at = NULL; bytes > 0; bytes -= 1 << 20) {
        at = malloc(1 << 20);
        if (!at)
            return GW_ENOMEM;
        memset(at, 1, 1 << 20);
        memcpy(at, &retained, sizeof retained);
        retained = at;
    }
    while (much)
        pause();
    return gw_task_return(task, gw_i64(1));
}
GW_TASK(hog);

/* Roots, and a task behind each that releases it: memory need not hold more than a few. */
static void stream(int count, int64_t bytes)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node all = gw_call(graph, sum, NULL);
    struct gw_future *future;
    gw_node *checks = calloc((size_t)count, sizeof *checks);
    for (int i = 0; i < count; i++) {
        gw_node root = gw_call(graph, make, NULL, gw_i64(i), gw_i64(bytes));
        checks[i] = gw_call(graph, check, NULL, gw_i64(i), gw_result(root));
    }
    for (int i = 0; i < count; i += 16) {
        gw_node part = checks[i];
        for (int k = i + 1; k < i + 16 && k < count; k++)
            part = gw_call(graph, sum, NULL, gw_result(part), gw_result(checks[k]));
        all = gw_call(graph, sum, NULL, gw_result(all), gw_result(part));
    }
    CHECK(gw_client_submit(client, graph, all, &future, &error) == 0);
    printf("%lld\n", (long long)subject_i64(future, 0));
    gw_future_release(future);
    gw_graph_free(graph);
    free(checks);
}

/* All results first, held by futures; then all of them are read at once, twice. */
static void hold(int count, int64_t bytes)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_future **futures = calloc((size_t)count, sizeof(void *)), *future;
    gw_node *nodes = calloc((size_t)count, sizeof *nodes);
    for (int i = 0; i < count; i++)
        nodes[i] = gw_call(graph, make, NULL, gw_i64(i), gw_i64(bytes));
    CHECK(gw_client_submit_many(client, graph, NULL, nodes, (size_t)count, futures, &error) == 0);
    for (int i = 0; i < count; i++)
        CHECK(gw_future_wait(futures[i], UINT64_MAX) == 0);
    gw_graph_free(graph);
    printf("made\n");
    fflush(stdout);
    (void)getchar(); /* the test looks, and damages some files */
    int64_t right = 0;
    for (int times = 0; times < 2; times++) {
        graph = gw_graph_new();
        gw_node all = gw_call(graph, sum, NULL);
        for (int i = 0; i < count; i++) {
            gw_node one =
                gw_call(graph, check, NULL, gw_i64(i), gw_result_future(graph, futures[i]));
            all = gw_call(graph, sum, NULL, gw_result(all), gw_result(one));
        }
        CHECK(gw_client_submit(client, graph, all, &future, &error) == 0);
        right += subject_i64(future, 0);
        gw_future_release(future);
        gw_graph_free(graph);
    }
    struct gw_value *value; /* and one to the client itself */
    CHECK(gw_future_get(futures[0], 0, &value, &error) == 0);
    const void *data;
    size_t size;
    CHECK(gw_value_get_bytes(value, &data, &size, &error) == 0 && size == (size_t)bytes);
    gw_value_unref(value);
    printf("%lld\n", (long long)right);
    for (int i = 0; i < count; i++)
        gw_future_release(futures[i]);
    free(futures);
    free(nodes);
}

/* Results of one worker, all of them inputs of a task at the other. */
static void apart(int count, int64_t bytes)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_value **arguments = calloc((size_t)count + 1, sizeof(void *));
    struct gw_future *future;
    arguments[0] = gw_i64(0);
    for (int i = 0; i < count; i++)
        arguments[i + 1] = gw_result(
            gw_call(graph, make, GW_OPTIONS(.workers = "worker-1"), gw_i64(i), gw_i64(bytes)));
    gw_node all = gw_graph_call(graph, GW_FUNCTION(check), GW_OPTIONS(.workers = "worker-2"),
                                arguments, (uint32_t)count + 1);
    CHECK(gw_client_submit(client, graph, all, &future, &error) == 0);
    printf("%lld\n", (long long)subject_i64(future, 0));
    gw_future_release(future);
    gw_graph_free(graph);
    free(arguments);
}

/* Two tasks that together need more memory than there is, one of them much more than the other. */
static void hogs(int64_t large, int64_t small)
{
    struct gw_future *first, *second;
    struct gw_value *value;
    CHECK(gw_submit(client, hog, NULL, GW_ARGS(gw_i64(small)), &second, &error) == 0);
    CHECK(subject_i64(second, 0) == 1);
    CHECK(gw_submit(client, hog, NULL, GW_ARGS(gw_i64(large)), &first, &error) == 0);
    int rc = gw_future_get(first, 0, &value, &error);
    printf("%s: %s\n", gw_error_name(rc), error.text);
    gw_future_release(first);
    gw_future_release(second);
}

/* More results than there is room for, without a disk: some are refused, but the held ones are
 * usable, and releasing them makes room. */
static void fill(int count, int64_t bytes)
{
    struct gw_future **futures = calloc((size_t)count, sizeof(void *)), *future;
    int made = 0;
    for (int i = 0; i < count; i++)
        CHECK(gw_submit(client, make, NULL, GW_ARGS(gw_i64(i), gw_i64(bytes)), &futures[i],
                        &error) == 0);
    for (int i = 0; i < count; i++)
        CHECK(gw_future_wait(futures[i], UINT64_MAX) == 0);
    struct gw_error first = {0};
    int right = 0, limited = 0;
    for (int i = 0; i < count; i++) {
        if (gw_future_state(futures[i]) == GW_FAILED) {
            struct gw_value *value;
            limited += gw_future_get(futures[i], 0, &value, limited ? &error : &first) == GW_ELIMIT;
            continue;
        }
        struct gw_graph *graph = gw_graph_new();
        gw_node one = gw_call(graph, check, NULL, gw_i64(i), gw_result_future(graph, futures[i]));
        CHECK(gw_client_submit(client, graph, one, &future, &error) == 0);
        right += (int)subject_i64(future, 0);
        gw_future_release(future);
        gw_graph_free(graph);
        made++;
    }
    printf("%d made, %d of them right, %d refused\n%s\n", made, right, limited, first.text);
    for (int i = 0; i < count; i++)
        gw_future_release(futures[i]);
    CHECK(gw_submit(client, make, NULL, GW_ARGS(gw_i64(0), gw_i64(bytes)), &future, &error) == 0);
    CHECK(gw_future_wait(future, UINT64_MAX) == 0);
    printf("again: %s\n", gw_future_state(future) == GW_DONE ? "made" : "refused");
    gw_future_release(future);
    free(futures);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    if (argc != 4)
        return 2;
    int64_t a = atoll(argv[2]), b = atoll(argv[3]);
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(argv[1], "stream") == 0)
        stream((int)a, b);
    else if (strcmp(argv[1], "hold") == 0)
        hold((int)a, b);
    else if (strcmp(argv[1], "fill") == 0)
        fill((int)a, b);
    else if (strcmp(argv[1], "apart") == 0)
        apart((int)a, b);
    else
        hogs(a, b);
    gw_client_close(client);
    return 0;
}
