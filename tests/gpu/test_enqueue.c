/* The cost of a collective on a stream for the thread that enqueues it: through comm.h, and with a
 * communicator of NCCL that is used directly, in bursts by turns. The communicator of comm.h does
 * not block, so its measure is a raw one that does not block either; a raw one that blocks is
 * measured too. Prints figures. */
#include "tests/unit/gpu/comm_world.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

extern const struct comm_backend_hooks COMM_HOOKS;

#ifndef ENQUEUE_RATIO_MAX /* times of the fakes mean nothing */
#define ENQUEUE_RATIO_MAX 1.2
#endif

enum { COUNT = 1 << 14, BURST = 50, ROUNDS = 21, WAYS = 3 };

/* One way to enqueue. */
struct way {
    const char *name;
    ncclComm_t raw; /* NULL: through comm.h */
    double us[ROUNDS];
};

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Until what was begun is done. */
static ncclResult_t settled(ncclComm_t raw, ncclResult_t rc)
{
    while (rc == ncclInProgress)
        if (ncclCommGetAsyncError(raw, &rc) != ncclSuccess)
            return ncclSystemError;
    return rc;
}

static int raw_open(struct world_rank *self, int blocking, ncclComm_t *raw)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    config.blocking = blocking;
    if (self->rank == 0)
        RANK_CHECK(ncclGetUniqueId(&id) == ncclSuccess);
    RANK_CHECK_RC(
        gw_comm_broadcast(
            self->comm, GW_COMM_ARGS(.recv = &id, .count = sizeof id, .dtype = GW_DTYPE_U8), NULL),
        0);
    ncclResult_t rc = ncclCommInitRankConfig(raw, self->ranks, id, self->rank, &config);
    RANK_CHECK(settled(*raw, rc) == ncclSuccess);
    return 0;
}

static int burst(struct world_rank *self, const struct way *way, void *memory, cudaStream_t stream,
                 double *us)
{
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
    const double began_us = now_us();
    for (int i = 0; i < BURST && way->raw; i++)
        RANK_CHECK(settled(way->raw, ncclAllReduce(memory, memory, COUNT, ncclFloat32, ncclSum,
                                                   way->raw, stream)) == ncclSuccess);
    for (int i = 0; i < BURST && !way->raw; i++)
        RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                         GW_COMM_ARGS(.recv = memory, .count = COUNT,
                                                      .dtype = GW_DTYPE_F32, .stream = stream),
                                         NULL),
                      0);
    *us = (now_us() - began_us) / BURST;
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
    return 0;
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int rank_enqueues(struct world_rank *self)
{
    struct way ways[WAYS] = {{.name = "comm"}, {.name = "raw"}, {.name = "raw_blocking"}};
    void *memory, *stream;
    double ignored;
    RANK_CHECK(raw_open(self, 0, &ways[1].raw) == 0);
    RANK_CHECK(raw_open(self, 1, &ways[2].raw) == 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, COUNT * sizeof(float), &memory, NULL), 0);
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, NULL), 0);
    for (int round = -1; round < ROUNDS; round++)
        for (int i = 0; i < WAYS; i++)
            RANK_CHECK(burst(self, &ways[i], memory, stream,
                             round < 0 ? &ignored : &ways[i].us[round]) == 0);
    for (int i = 0; i < WAYS; i++) {
        qsort(ways[i].us, ROUNDS, sizeof ways[i].us[0], compare_times);
        if (self->rank == 0)
            printf("figure %s_us %.2f\n", ways[i].name, ways[i].us[ROUNDS / 2]);
        if (ways[i].raw) {
            RANK_CHECK(settled(ways[i].raw, ncclCommFinalize(ways[i].raw)) == ncclSuccess);
            RANK_CHECK(ncclCommDestroy(ways[i].raw) == ncclSuccess);
        }
    }
    const double ratio = ways[0].us[ROUNDS / 2] / ways[1].us[ROUNDS / 2];
    if (self->rank == 0)
        printf("figure ratio %.2f\n", ratio);
    (void)fflush(stdout);
    RANK_CHECK(ratio <= ENQUEUE_RATIO_MAX);
    return 0;
}

static void collective_on_a_stream_costs_little_more_than_that_of_nccl(void **state)
{
    struct world world = {.hooks = &COMM_HOOKS, .ranks = 2, .function = rank_enqueues};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collective_on_a_stream_costs_little_more_than_that_of_nccl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
