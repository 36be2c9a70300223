/* A gang of four functions with a GPU each, on workers that have two each: its communicator uses
 * NCCL, on one host or several. `nccl N`: of N functions, and how long each of two gangs took.
 * `nccl die`: rank 3 exits during the run. `nccl fails`: NCCL does not start. `nccl without`: there
 * is no NCCL, and the gang runs without it. `nccl several`: a gang of two functions with two GPUs
 * each, and a task with two. Prints "ok". */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 100000 };

/* The sum of all ranks, from buffers on the host, which the backend copies. */
static int sum(struct gw_task *task, struct gw_comm *comm, float wanted)
{
    static float data[COUNT];
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)gw_task_rank(task);
    int rc =
        gw_comm_all_reduce(comm, GW_COMM_ARGS(.recv = data, .count = COUNT, .dtype = GW_DTYPE_F32),
                           gw_task_error(task));
    for (int i = 0; i < COUNT && rc == 0; i++)
        if (data[i] != wanted)
            rc = gw_task_fail(task, GW_ECORRUPT, "element %d is %g", i, (double)data[i]);
    return rc;
}

/* The sum of the ranks from `first` on, in steps. */
static float ranks_added(const struct gw_task *task, uint32_t first, uint32_t step)
{
    float all = 0;
    for (uint32_t rank = first; rank < gw_task_world(task); rank += step)
        all += (float)rank;
    return all;
}

static int reduce(struct gw_task *task)
{
    struct gw_comm *comm = gw_task_comm(task), *pair;
    struct ncclComm *handle;
    const char *interface = getenv("NCCL_SOCKET_IFNAME");
    const int rank = (int)gw_task_rank(task);
    int64_t dies = 0;
    if (gw_task_arg_i64(task, 0, &dies) < 0)
        return GW_EINVAL;
    int rc = sum(task, comm, ranks_added(task, 0, 1));
    if (rc < 0 || strcmp(gw_comm_backend(comm), "nccl") != 0)
        return rc < 0 ? rc : gw_task_return(task, gw_str(gw_comm_backend(comm)));
    if (!interface || gw_comm_nccl(comm, &handle, gw_task_error(task)) < 0)
        return gw_task_fail(task, GW_ECORRUPT, "interface %s", interface ? interface : "none");
    const struct gw_comm_part split = {.colour = rank % 2};
    rc = gw_comm_split(comm, &split, &pair, gw_task_error(task));
    if (rc == 0)
        rc = sum(task, pair, ranks_added(task, (uint32_t)rank % 2, 2));
    gw_comm_close(rc == 0 ? pair : NULL);
    if (dies && rank == 3)
        _exit(3);
    if (rc == 0)
        rc = sum(task, comm, ranks_added(task, 0, 1));
    return rc < 0 ? rc : gw_task_return(task, gw_str("nccl"));
}
GW_TASK(reduce);

/* All GPUs of all ranks, which are numbered in the order of the ranks. */
static int gpu_main(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *why)
{
    const struct gw_task *task = arg;
    const int size = gw_comm_size(comm);
    int64_t sum = gw_comm_rank(comm);
    void *memory;
    int rc = gw_comm_alloc(comm, COUNT, &memory, why);
    if (rc == 0) /* by NCCL */
        rc = gw_comm_all_reduce(
            comm, GW_COMM_ARGS(.recv = memory, .count = COUNT / 4, .dtype = GW_DTYPE_F32), why);
    if (rc == 0)
        rc = gw_comm_all_reduce(comm, GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_I64),
                                why);
    if (rc == 0 &&
        (strcmp(gw_comm_backend(comm), "nccl") != 0 || sum != size * (size - 1) / 2 ||
         gw_comm_rank(comm) != (int)(gw_task_rank(task) * gw_task_gpu_count(task) + gpu)))
        rc = gw_error_set(why, GW_ECORRUPT, "rank %d of %d", gw_comm_rank(comm), size);
    return rc < 0 ? rc : size;
}

static int use_all(struct gw_task *task)
{
    int size = gw_task_gpus_run(task, gpu_main, task);
    return size < 0 ? size : gw_task_return(task, gw_i64(size));
}
GW_TASK(use_all);

static void several(struct gw_client *client)
{
    struct gw_graph *graph = gw_graph_new();
    const gw_node nodes[] = {gw_call(graph, use_all, GW_GANG(.ranks = 2, .gpu.count = 2)),
                             gw_call(graph, use_all, GW_OPTIONS(.gpu.count = 2))};
    for (int i = 0; i < 2; i++) {
        struct gw_future *future;
        struct gw_value *value;
        int64_t size;
        CHECK(gw_client_submit(client, graph, nodes[i], &future, &error) == 0);
        CHECK(gw_future_get(future, 0, &value, &error) == 0);
        CHECK(gw_value_get_i64(value, &size, &error) == 0 && size == (i == 0 ? 4 : 2));
        gw_value_unref(value);
        gw_future_release(future);
    }
    gw_graph_free(graph);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    const char *text;
    gw_init(&argc, &argv);
    const int ranks = argc > 1 ? atoi(argv[1]) : 0;
    const char *mode = argc > 1 && ranks == 0 ? argv[1] : "";
    const bool dies = strcmp(mode, "die") == 0, fails = strcmp(mode, "fails") == 0;
    const bool without = strcmp(mode, "without") == 0;
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(mode, "several") == 0)
        several(client);
    for (int round = strcmp(mode, "several") == 0 ? 2 : 0; round < (*mode ? 1 : 2);
         round++) { /* warm runners join again */
        struct gw_graph *graph = gw_graph_new();
        const double start_ms = now_ms();
        gw_node node = gw_call(graph, reduce,
                               GW_GANG(.ranks = ranks > 0 ? (uint32_t)ranks : 4, .gpu.count = 1),
                               gw_i64(dies));
        CHECK(gw_client_submit(client, graph, node, &future, &error) == 0);
        gw_graph_free(graph);
        int rc = gw_future_get(future, 0, &value, &error);
        if (dies || fails) {
            CHECK(rc < 0 && strstr(error.text, dies ? "rank 3" : "NCCL: invalid usage"));
        } else {
            CHECK(rc == 0 && gw_value_get_str(value, &text, &error) == 0);
            CHECK(strcmp(text, without ? "host" : "nccl") == 0);
            gw_value_unref(value);
        }
        if (ranks > 0)
            printf("a gang of %d on NCCL, %s: %.1f ms\n", ranks, round ? "warm" : "cold",
                   now_ms() - start_ms);
        gw_future_release(future);
    }
    gw_client_close(client);
    puts("ok");
    return 0;
}
