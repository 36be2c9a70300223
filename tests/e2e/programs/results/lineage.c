/* A chain of five tasks with large results, whose worker is killed afterwards. `lineage
 * all|tail|value|peer COUNTS GO`: prints "computed", waits until a line is written to the fifo GO,
 * gets the last result and checks it. Each task appends its number to the file COUNTS. all: only
 * the last result is held, and all results are at worker-1. tail: the third result is held, too,
 * and is at worker-2. value: instead of a chain, one task that takes a scattered value, which is
 * released. peer: one task, whose result is at worker-1 and is taken by another task at worker-2.
 * Prints "ok". */
#include "tests/e2e/programs/append.h"
#include "tests/e2e/programs/check.h"

#include <fcntl.h>
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 5, BYTES = 64 << 10 };

static struct gw_client *client;

/* (number, counts, previous result): adds its number to every byte. */
static int link_of_chain(struct gw_task *task)
{
    static uint8_t made[BYTES];
    const void *before = NULL;
    const char *path;
    size_t bytes = 0;
    int64_t number;
    if (gw_task_arg_i64(task, 0, &number) < 0 || gw_task_arg_str(task, 1, &path) < 0 ||
        (number > 1 && gw_task_arg_bytes(task, 2, &before, &bytes) < 0))
        return GW_EINVAL;
    if (number > 1 && bytes != BYTES)
        return gw_task_fail(task, GW_EINVAL, "%zu bytes", bytes);
    for (size_t i = 0; i < BYTES; i++)
        made[i] = (uint8_t)((before ? ((const uint8_t *)before)[i] : 0) + number);
    int rc = append(task, path, "%lld\n", (long long)number);
    return rc < 0 ? rc : gw_task_return(task, gw_bytes(made, BYTES));
}
GW_TASK(link_of_chain);

static void chain(const char *counts, uint32_t at_second, struct gw_future **futures)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node nodes[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++) {
        const struct gw_task_options options =
            GW_INIT(gw_task_options, .workers = i < at_second ? "worker-2" : "worker-1",
                    .workers_prefer = true);
        nodes[i] = i == 0 ? gw_call(graph, link_of_chain, &options, gw_i64(1), gw_str(counts))
                          : gw_call(graph, link_of_chain, &options, gw_i64(i + 1), gw_str(counts),
                                    gw_result(nodes[i - 1]));
    }
    const gw_node wanted[] = {nodes[DEPTH - 1], nodes[DEPTH / 2]};
    CHECK(gw_client_submit_many(client, graph, NULL, wanted, at_second ? 2 : 1, futures, &error) ==
          0);
    gw_graph_free(graph);
}

static void must_lie_at(const struct gw_future *future, const char *name)
{
    struct gw_value *holders, *workers;
    int64_t holder, id;
    const char *found = NULL;
    CHECK(gw_who_has(future, &holders, &error) == 0 && gw_value_count(holders) == 1);
    CHECK(gw_value_get_i64(gw_value_find(gw_value_at(holders, 0), "worker"), &holder, &error) == 0);
    CHECK(gw_client_query(client, "workers", NULL, &workers, &error) == 0);
    for (size_t i = 0; i < gw_value_count(workers); i++) {
        struct gw_value *worker = gw_value_at(workers, i);
        CHECK(gw_value_get_i64(gw_value_find(worker, "id"), &id, &error) == 0);
        if (id == holder)
            CHECK(gw_value_get_str(gw_value_find(worker, "name"), &found, &error) == 0);
    }
    CHECK(found && strcmp(found, name) == 0);
    gw_value_unref(holders);
    gw_value_unref(workers);
}

/* Returns after the worker was killed. */
static void say_computed(const char *go)
{
    char byte;
    printf("computed\n");
    fflush(stdout);
    int fd = open(go, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, &byte, 1) == 1);
    close(fd);
}

/* A result made of a released scattered value cannot be recomputed; the error says so. */
static void say_what_is_lost(const char *counts, const char *go)
{
    static uint8_t zeros[BYTES];
    const struct gw_task_options options =
        GW_INIT(gw_task_options, .workers = "worker-1", .workers_prefer = true);
    struct gw_value *value = gw_bytes(zeros, BYTES);
    struct gw_future *given, *made;
    char wanted[64];
    struct gw_graph *graph = gw_graph_new();
    CHECK(gw_scatter(client, value, &given, &error) == 0);
    gw_node node = gw_call(graph, link_of_chain, &options, gw_i64(2), gw_str(counts),
                           gw_result_future(graph, given));
    CHECK(gw_client_submit(client, graph, node, &made, &error) == 0);
    (void)snprintf(wanted, sizeof wanted, "scattered as job %llu was released",
                   (unsigned long long)gw_future_job(given));
    gw_future_release(given);
    CHECK(gw_future_wait(made, UINT64_MAX) == 0);
    must_lie_at(made, "worker-1");
    say_computed(go);
    CHECK(gw_future_get(made, 0, &value, &error) == GW_ELOST);
    CHECK(strstr(error.text, "client lineage") && strstr(error.text, wanted));
    CHECK(strstr(error.text, " was lost: ") && strstr(error.text, "scatter it again"));
    gw_future_release(made);
    gw_graph_free(graph);
    gw_value_unref(value);
}

/* A result at worker-1, which was stopped meanwhile, still reaches worker-2. */
static void pass_on(const char *counts, const char *go)
{
    struct gw_task_options options =
        GW_INIT(gw_task_options, .workers = "worker-1", .workers_prefer = true);
    struct gw_future *made, *taken;
    struct gw_value *value;
    const void *data;
    size_t bytes;
    struct gw_graph *graph = gw_graph_new(), *next = gw_graph_new();
    gw_node node = gw_call(graph, link_of_chain, &options, gw_i64(1), gw_str(counts));
    CHECK(gw_client_submit(client, graph, node, &made, &error) == 0);
    CHECK(gw_future_wait(made, UINT64_MAX) == 0);
    must_lie_at(made, "worker-1");
    say_computed(go);
    options.workers = "worker-2";
    node = gw_call(next, link_of_chain, &options, gw_i64(2), gw_str(counts),
                   gw_result_future(next, made));
    CHECK(gw_client_submit(client, next, node, &taken, &error) == 0);
    CHECK(gw_future_get(taken, 0, &value, &error) == 0);
    CHECK(gw_value_get_bytes(value, &data, &bytes, &error) == 0 && bytes == BYTES);
    CHECK(((const uint8_t *)data)[0] == 1 + 2 && ((const uint8_t *)data)[BYTES - 1] == 1 + 2);
    gw_value_unref(value);
    gw_future_release(taken);
    gw_future_release(made);
    gw_graph_free(graph);
    gw_graph_free(next);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    if (argc != 4)
        return 2;
    struct gw_future *futures[2] = {NULL, NULL};
    struct gw_value *value;
    const void *data;
    size_t bytes;
    bool tail = strcmp(argv[1], "tail") == 0;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(argv[1], "value") == 0) {
        say_what_is_lost(argv[2], argv[3]);
    } else if (strcmp(argv[1], "peer") == 0) {
        pass_on(argv[2], argv[3]);
    }
    if (strcmp(argv[1], "value") == 0 || strcmp(argv[1], "peer") == 0) {
        gw_client_close(client);
        printf("ok\n");
        return 0;
    }
    chain(argv[2], tail ? DEPTH / 2 + 1 : 0, futures);
    CHECK(gw_future_wait(futures[0], UINT64_MAX) == 0);
    CHECK(gw_future_state(futures[0]) == GW_DONE);
    must_lie_at(futures[0], "worker-1");
    say_computed(argv[3]);
    CHECK(gw_future_get(futures[0], 0, &value, &error) == 0);
    CHECK(gw_value_get_bytes(value, &data, &bytes, &error) == 0 && bytes == BYTES);
    for (size_t i = 0; i < bytes; i++)
        CHECK(((const uint8_t *)data)[i] == 1 + 2 + 3 + 4 + 5);
    gw_value_unref(value);
    gw_future_release(futures[0]);
    gw_future_release(futures[1]);
    gw_client_close(client);
    printf("ok\n");
    return 0;
}
