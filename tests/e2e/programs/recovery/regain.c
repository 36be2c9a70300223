/* Results at workers that survive the scheduler. Each task, and rank 0 of the gang, appends its
 * number to the file COUNTS. `regain make COUNTS`: a detached job of a task, a gang of two that
 * takes its result, and a task that takes the gang's result; waits for it, prints its number and
 * exits. `regain take COUNTS JOB`: a task after that job that takes two of its results; checks its
 * value. Prints "ok". */
#include "tests/e2e/programs/append.h"
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 64 << 10 };

static struct gw_client *client;
static struct gw_future *retained[2]; /* released when no scheduler can be told: the results stay */

static int count(struct gw_task *task, int64_t number)
{
    const char *path;
    if (gw_task_arg_str(task, 1, &path) < 0)
        return GW_EINVAL;
    return append(task, path, "%lld\n", (long long)number);
}

/* (number, counts, bytes...): the sum of the bytes, plus its number. */
static int add_up(struct gw_task *task)
{
    static uint8_t made[BYTES];
    int64_t number;
    if (gw_task_arg_i64(task, 0, &number) < 0)
        return GW_EINVAL;
    memset(made, (int)number, sizeof made);
    for (uint32_t i = 2; i < gw_task_arg_count(task); i++) {
        const void *taken;
        size_t bytes;
        if (gw_task_arg_bytes(task, i, &taken, &bytes) < 0 || bytes != BYTES)
            return GW_EINVAL;
        for (size_t k = 0; k < BYTES; k++)
            made[k] = (uint8_t)(made[k] + ((const uint8_t *)taken)[k]);
    }
    int rc = gw_task_rank(task) == 0 ? count(task, number) : 0;
    return rc < 0 ? rc : gw_task_return(task, gw_bytes(made, BYTES));
}
GW_TASK(add_up);

static void make(const char *counts)
{
    const struct gw_submit_options options =
        GW_INIT(gw_submit_options, .name = "made", .detached = true);
    struct gw_graph *graph = gw_graph_new();
    gw_node first = gw_call(graph, add_up, NULL, gw_i64(1), gw_str(counts));
    gw_node gang =
        gw_call(graph, add_up, GW_GANG(.ranks = 2), gw_i64(2), gw_str(counts), gw_result(first));
    const gw_node wanted[] = {
        gang, gw_call(graph, add_up, NULL, gw_i64(4), gw_str(counts), gw_result(gang))};
    CHECK(gw_client_submit_many(client, graph, &options, wanted, 2, retained, &error) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(gw_future_wait(retained[i], UINT64_MAX) == 0 &&
              gw_future_state(retained[i]) == GW_DONE);
    printf("%llu\n", (unsigned long long)gw_future_job(retained[0]));
    for (int i = 0; i < 2; i++)
        printf("%u\n", gw_future_index(retained[i]));
    gw_graph_free(graph);
}

static void take(const char *counts, char **words)
{
    const uint64_t job = strtoull(words[0], NULL, 10);
    const struct gw_submit_options options =
        GW_INIT(gw_submit_options, .after = &job, .after_count = 1);
    struct gw_future *taken[2], *sum;
    struct gw_value *value;
    const void *data;
    size_t bytes;
    for (int i = 0; i < 2; i++)
        CHECK(gw_client_task(client, job, (uint32_t)strtoul(words[1 + i], NULL, 10), &taken[i],
                             &error) == 0);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, add_up, NULL, gw_i64(8), gw_str(counts),
                           gw_result_future(graph, taken[0]), gw_result_future(graph, taken[1]));
    CHECK(gw_client_submit_many(client, graph, &options, &node, 1, &sum, &error) == 0);
    CHECK(gw_future_get(sum, 0, &value, &error) == 0);
    CHECK(gw_value_get_bytes(value, &data, &bytes, &error) == 0 && bytes == BYTES);
    for (size_t i = 0; i < bytes; i++)
        CHECK(((const uint8_t *)data)[i] == (1 + 2) + (1 + 2 + 4) + 8);
    gw_value_unref(value);
    gw_future_release(sum);
    gw_future_release(taken[0]);
    gw_future_release(taken[1]);
    gw_graph_free(graph);
    printf("ok\n");
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    if (argc < 3)
        return 2;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(argv[1], "make") == 0)
        make(argv[2]);
    else if (argc == 6)
        take(argv[2], argv + 3);
    gw_client_close(client);
    for (int i = 0; i < 2; i++)
        gw_future_release(retained[i]);
    return 0;
}
