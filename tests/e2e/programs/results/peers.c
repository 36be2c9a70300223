/* Results that pass from worker to worker, on a running cluster with worker-1 and worker-2: each
 * size is made at one and checked, byte for byte, at the other. Prints "ok". */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t byte_at(int64_t seed, size_t i)
{
    return (uint8_t)((size_t)seed + i * 31 + i / 4093);
}

static int make(struct gw_task *task)
{
    int64_t bytes, seed;
    if (gw_task_arg_i64(task, 0, &bytes) < 0 || gw_task_arg_i64(task, 1, &seed) < 0)
        return GW_EINVAL;
    uint8_t *data = malloc((size_t)bytes + 1);
    if (!data)
        return GW_ENOMEM;
    for (size_t i = 0; i < (size_t)bytes; i++)
        data[i] = byte_at(seed, i);
    int rc = gw_task_return(task, gw_bytes(data, (size_t)bytes));
    free(data);
    return rc;
}
GW_TASK(make);

/* (seed, bytes...): each input was made with the next seed. Returns the number of bytes it checked.
 */
static int look(struct gw_task *task)
{
    int64_t seed, sum = 0;
    if (gw_task_arg_i64(task, 0, &seed) < 0)
        return GW_EINVAL;
    for (uint32_t k = 1; k < gw_task_arg_count(task); k++) {
        const void *data;
        size_t bytes;
        if (gw_task_arg_bytes(task, k, &data, &bytes) < 0)
            return GW_EINVAL;
        for (size_t i = 0; i < bytes; i++)
            if (((const uint8_t *)data)[i] != byte_at(seed + k - 1, i))
                return gw_task_fail(task, GW_ECORRUPT, "input %u, byte %zu", k, i);
        sum += (int64_t)bytes;
    }
    return gw_task_return(task, gw_i64(sum));
}
GW_TASK(look);

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {0, 100, 4096, 4097, 65536, 1 << 20, (5 << 20) + 3};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 6 };
    static const char *const names[] = {"worker-1", "worker-2"};
    gw_init(&argc, &argv);
    struct gw_client *client;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    struct gw_graph *graph = gw_graph_new();
    gw_node targets[ROUNDS];
    struct gw_future *futures[ROUNDS];
    int64_t wanted = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const char *here = names[round % 2], *there = names[!(round % 2)];
        struct gw_value *inputs[1 + SIZES] = {gw_i64(round * 100)};
        for (int i = 0; i < SIZES; i++)
            inputs[1 + i] = gw_result(gw_call(graph, make, GW_OPTIONS(.workers = here),
                                              gw_i64(sizes[i]), gw_i64(round * 100 + i)));
        targets[round] = gw_graph_call(graph, GW_FUNCTION(look), GW_OPTIONS(.workers = there),
                                       inputs, 1 + SIZES);
    }
    for (int i = 0; i < SIZES; i++)
        wanted += sizes[i];
    CHECK(gw_client_submit_many(client, graph, NULL, targets, ROUNDS, futures, &error) == 0);
    gw_graph_free(graph);
    for (int round = 0; round < ROUNDS; round++) {
        struct gw_value *value;
        int64_t sum;
        CHECK(gw_future_get(futures[round], 0, &value, &error) == 0);
        CHECK(gw_value_get_i64(value, &sum, &error) == 0);
        CHECK(sum == wanted);
        gw_value_unref(value);
        gw_future_release(futures[round]);
    }
    gw_client_close(client);
    puts("ok");
    return 0;
}
