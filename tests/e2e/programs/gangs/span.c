/* A gang of four functions on a cluster whose workers have two slots each: the ranks reduce, gather
 * and send to each other. `span die`: rank 3 exits during the run, and the others notice. Prints
 * "ok". */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, COUNT = 300000 };

static int sum(struct gw_task *task)
{
    static float data[COUNT];
    struct gw_comm *comm = gw_task_comm(task);
    const int rank = (int)gw_task_rank(task);
    int64_t dies = 0;
    int32_t next = -1;
    if (gw_task_arg_i64(task, 0, &dies) < 0)
        return GW_EINVAL;
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)(rank + i % 100);
    const struct gw_comm_args all = {.recv = data, .count = COUNT, .dtype = GW_DTYPE_F32};
    int rc = gw_comm_all_reduce(comm, &all, gw_task_error(task));
    for (int i = 0; i < COUNT && rc == 0; i++)
        if (data[i] != (float)(6 + 4 * (i % 100)))
            return gw_task_fail(task, GW_ECORRUPT, "element %d is %g", i, (double)data[i]);
    if (dies && rank == 3)
        _exit(3);
    const struct gw_comm_args out = {
        .send = &rank, .count = 1, .dtype = GW_DTYPE_I32, .root = (rank + 1) % RANKS};
    const struct gw_comm_args in = {
        .recv = &next, .count = 1, .dtype = GW_DTYPE_I32, .root = (rank + RANKS - 1) % RANKS};
    if (rc == 0 && rank % 2 == 0)
        rc = gw_comm_send(comm, &out, gw_task_error(task));
    if (rc == 0)
        rc = gw_comm_recv(comm, &in, gw_task_error(task));
    if (rc == 0 && rank % 2 == 1)
        rc = gw_comm_send(comm, &out, gw_task_error(task));
    if (rc == 0 && next != in.root)
        return gw_task_fail(task, GW_ECORRUPT, "%d came from rank %d", (int)next, in.root);
    if (rc == 0)
        rc = gw_comm_barrier(comm, gw_task_error(task));
    return rc < 0 ? rc : gw_task_return(task, gw_f64((double)data[1]));
}
GW_TASK(sum);

int main(int argc, char **argv)
{
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    double result;
    gw_init(&argc, &argv);
    const bool dies = argc > 1 && strcmp(argv[1], "die") == 0;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    for (int round = 0; round < (dies ? 1 : 3); round++) { /* warm runners join again */
        struct gw_graph *graph = gw_graph_new();
        gw_node node = gw_call(graph, sum, GW_GANG(.ranks = RANKS), gw_i64(dies));
        CHECK(gw_client_submit(client, graph, node, &future, &error) == 0);
        gw_graph_free(graph);
        int rc = gw_future_get(future, 0, &value, &error);
        if (dies) {
            CHECK(rc < 0 && strstr(error.text, "rank 3"));
        } else {
            CHECK(rc == 0 && gw_value_get_f64(value, &result, &error) == 0 && result == 10);
            gw_value_unref(value);
        }
        gw_future_release(future);
    }
    gw_client_close(client);
    puts("ok");
    return 0;
}
