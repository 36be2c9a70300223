/* Replicas of results, on a running cluster with worker-1 to worker-3. `replicas spread`: a
 * scattered value goes to all of them, is read at each, and is published as "everywhere"; replicas
 * are counted, refused if there are too few workers, and removed on release. `replicas loss COUNTS
 * GO`: a result of worker-1 is copied to another worker, prints "computed", waits until a line is
 * written to the fifo GO, and gets it: each run of the task appended a line to the file COUNTS.
 * Prints "ok". */
#include "tests/e2e/programs/append.h"
#include "tests/e2e/programs/check.h"

#include <fcntl.h>
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 256 << 10, WORKERS = 3 };

static struct gw_client *client;

static uint8_t bytes_made[BYTES];

static void fill(uint8_t seed)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes_made[i] = (uint8_t)(seed + i * 7 + i / 4093);
}

/* (seed, counts) */
static int make(struct gw_task *task)
{
    int64_t seed;
    const char *path;
    if (gw_task_arg_i64(task, 0, &seed) < 0 || gw_task_arg_str(task, 1, &path) < 0)
        return GW_EINVAL;
    int rc = append(task, path, "made\n");
    if (rc < 0)
        return rc;
    fill((uint8_t)seed);
    return gw_task_return(task, gw_bytes(bytes_made, BYTES));
}
GW_TASK(make);

/* (seed, bytes) */
static int look(struct gw_task *task)
{
    int64_t seed;
    const void *data;
    size_t bytes;
    if (gw_task_arg_i64(task, 0, &seed) < 0 || gw_task_arg_bytes(task, 1, &data, &bytes) < 0)
        return GW_EINVAL;
    fill((uint8_t)seed);
    return gw_task_return(task, gw_bool(bytes == BYTES && memcmp(data, bytes_made, BYTES) == 0));
}
GW_TASK(look);

static int fails(struct gw_task *task)
{
    return gw_task_fail(task, GW_ETASK, "as it should");
}
GW_TASK(fails);

/* How many workers have it (the scheduler does not count). */
static int holders(const struct gw_future *future)
{
    struct gw_value *list;
    int64_t worker;
    int count = 0;
    CHECK(gw_who_has(future, &list, &error) == 0);
    for (size_t i = 0; i < gw_value_count(list); i++) {
        CHECK(gw_value_get_i64(gw_value_find(gw_value_at(list, i), "worker"), &worker, &error) ==
              0);
        count += worker > 0;
    }
    gw_value_unref(list);
    return count;
}

/* Reads a value at worker `number`. */
static void must_read(const struct gw_future *future, int64_t seed, int number)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *seen;
    struct gw_value *value;
    char name[16];
    bool same = false;
    (void)snprintf(name, sizeof name, "worker-%d", number);
    gw_node node = gw_call(graph, look, GW_OPTIONS(.workers = name), gw_i64(seed),
                           gw_result_future(graph, future));
    CHECK(gw_client_submit(client, graph, node, &seen, &error) == 0);
    CHECK(gw_future_get(seen, 0, &value, &error) == 0);
    CHECK(gw_value_get_bool(value, &same, &error) == 0 && same);
    gw_value_unref(value);
    gw_future_release(seen);
    gw_graph_free(graph);
}

static int replicate(struct gw_future *future, uint32_t copies, const char *workers)
{
    const struct gw_replicate_options options =
        GW_INIT(gw_replicate_options, .copies = copies, .workers = workers);
    memset(&error, 0, sizeof error);
    return gw_replicate(client, &future, 1, &options, &error);
}

static void spread(const char *counts)
{
    struct gw_future *everywhere, *small, *made[2], *bad;
    fill(1);
    struct gw_value *value = gw_bytes(bytes_made, BYTES), *few = gw_i64(7);
    CHECK(gw_scatter_to(client, value, NULL, &everywhere, &error) == 0);
    CHECK(holders(everywhere) == WORKERS);
    for (int i = 1; i <= WORKERS; i++)
        must_read(everywhere, 1, i);
    CHECK(gw_publish(client, "everywhere", everywhere, &error) == 0);

    const struct gw_replicate_options one =
        GW_INIT(gw_replicate_options, .copies = 1, .workers = "worker-2");
    CHECK(gw_scatter_to(client, few, &one, &small, &error) == 0 && holders(small) == 1);
    CHECK(replicate(small, 2, "worker-2,worker-3") == 0 && holders(small) == 2);

    /* pending results, and too many replicas */
    for (int i = 0; i < 2; i++)
        CHECK(gw_submit(client, make, NULL, GW_ARGS(gw_i64(i), gw_str(counts)), &made[i], &error) ==
              0);
    CHECK(gw_replicate(client, made, 2, GW_REPLICATE_OPTIONS(.copies = 2), &error) == 0);
    CHECK(holders(made[0]) == 2 && holders(made[1]) == 2);
    CHECK(replicate(made[0], 2, NULL) == 0 && holders(made[0]) == 2);
    CHECK(replicate(made[0], 4, NULL) == GW_EINFEASIBLE && holders(made[0]) == WORKERS);
    CHECK(strstr(error.text, "3 of 4 workers have a copy: there are only 3"));
    CHECK(replicate(made[1], 2, "worker-9") == GW_ENOENT && strstr(error.text, "worker-9"));
    CHECK(replicate(made[1], 1, "worker-1,") == GW_EINVAL);

    CHECK(gw_submit(client, fails, NULL, GW_ARGS(), &bad, &error) == 0);
    CHECK(replicate(bad, 2, NULL) == GW_ETASK && strstr(error.text, "as it should"));
    struct gw_future *all[] = {everywhere, small, made[0], made[1], bad};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        gw_future_release(all[i]);
    gw_value_unref(value);
    gw_value_unref(few);
}

static void loss(const char *counts, const char *go)
{
    struct gw_future *made, *given;
    struct gw_value *got;
    const void *data;
    size_t bytes;
    char byte;
    const struct gw_task_options options =
        GW_INIT(gw_task_options, .workers = "worker-1", .workers_prefer = true);
    fill(3);
    struct gw_value *value = gw_bytes(bytes_made, BYTES);
    CHECK(gw_scatter_to(client, value, NULL, &given, &error) == 0);
    CHECK(gw_submit(client, make, &options, GW_ARGS(gw_i64(5), gw_str(counts)), &made, &error) ==
          0);
    CHECK(replicate(made, 2, NULL) == 0 && holders(made) == 2);
    printf("computed\n");
    fflush(stdout);
    int fd = open(go, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, &byte, 1) == 1);
    close(fd);

    CHECK(gw_future_get(made, 0, &got, &error) == 0);
    CHECK(gw_value_get_bytes(got, &data, &bytes, &error) == 0 && bytes == BYTES);
    fill(5);
    CHECK(memcmp(data, bytes_made, BYTES) == 0);
    for (int i = 2; i <= WORKERS; i++) {
        must_read(made, 5, i);
        must_read(given, 3, i);
    }
    CHECK(holders(made) == 2); /* its replacement, which may already run, begins with no results */
    gw_value_unref(got);
    gw_value_unref(value);
    gw_future_release(made);
    gw_future_release(given);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    if (argc < 3)
        return 2;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(argv[1], "spread") == 0)
        spread(argv[2]);
    else
        loss(argv[2], argv[3]);
    gw_client_close(client);
    printf("ok\n");
    return 0;
}
