/* The NCCL backend when NCCL or CUDA fails, against the fakes: each fault ends in time, with a text
 * that says what it was. */
#include "tests/gpu/fake/fake.h"
#include "tests/unit/gpu/comm_world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MINUTE_NS 60000000000

/* What one rank alone gets of joining. */
static int join_alone(uint64_t timeout_ns, struct gw_comm **comm, struct gw_error *error)
{
    int fd;
    struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .timeout_ns = timeout_ns);
    const struct gw_comm_host_options host = GW_INIT(gw_comm_host_options, .ranks = 1);
    struct gw_comm_host_options with = host;
    assert_int_equal(gw_comm_segment_create(1, &fd, NULL), 0);
    with.fd = fd;
    assert_int_equal(gw_comm_open_host(&with, &options.host, NULL), 0);
    int rc = gw_comm_open_nccl(&options, comm, error);
    if (rc < 0)
        gw_comm_close(options.host);
    close(fd);
    return rc;
}

static void set_fault(const char *fault)
{
    assert_int_equal(fault ? setenv("FAKE_NCCL_FAULT", fault, 1) : unsetenv("FAKE_NCCL_FAULT"), 0);
}

static void hanging_nccl_init_times_out(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    set_fault("init-hangs");
    assert_int_equal(join_alone(50000000, &comm, &error), GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "rank 0: not done after 50ms"));
}

static void duplicate_gpu_aborts_the_join(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    set_fault("duplicate");
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "NCCL: invalid usage"));
}

static void background_error_aborts_the_collective(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory;
    set_fault("async");
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
    const struct gw_comm_args args = {.recv = memory, .count = 1, .dtype = GW_DTYPE_F32};
    assert_int_equal(gw_comm_all_reduce(comm, &args, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "remote process exited"));
    assert_int_equal(gw_comm_barrier(comm, &error), GW_EABORTED);
    gw_comm_close(comm);
}

/* A collective on a stream is not awaited, so the next call that waits reports the error. */
static void background_error_on_a_stream_aborts_the_next_wait(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory, *stream;
    set_fault("async");
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
    assert_int_equal(gw_comm_stream(comm, &stream, &error), 0);
    const struct gw_comm_args args = {
        .recv = memory, .count = 16, .dtype = GW_DTYPE_F32, .stream = stream};
    (void)gw_comm_all_reduce(comm, &args, &error); /* it may be seen here already */
    assert_int_equal(gw_comm_wait(comm, stream, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "remote process exited"));
    gw_comm_close(comm);
}

/* Past its deadline, or aborted by another thread: what NCCL had begun is given up. */
static void *abort_main(void *comm)
{
    gw_comm_abort(comm, GW_ECANCELLED, 0);
    return NULL;
}

static void stuck_collective_ends_at_its_deadline_or_abort(void **state)
{
    for (int aborted = 0; aborted < 2; aborted++) {
        struct gw_comm *comm;
        struct gw_error error;
        pthread_t thread;
        void *memory;
        set_fault("stuck");
        assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
        assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
        const struct gw_comm_args args = {.recv = memory, .count = 1, .dtype = GW_DTYPE_F32};
        if (aborted)
            assert_int_equal(pthread_create(&thread, NULL, abort_main, comm), 0);
        else
            gw_comm_set_timeout(comm, 50000000);
        assert_int_equal(gw_comm_all_reduce(comm, &args, &error),
                         aborted ? GW_EABORTED : GW_ETIMEDOUT);
        assert_non_null(strstr(error.text, aborted ? "aborted: rank 0" : "not done after 50ms"));
        if (aborted)
            assert_int_equal(pthread_join(thread, NULL), 0);
        gw_comm_close(comm);
        fake_hold(0);
    }
}

static void stream_reduce(struct gw_comm *comm, void *memory, void **stream)
{
    assert_int_equal(gw_comm_stream(comm, stream, NULL), 0);
    const struct gw_comm_args args = {
        .recv = memory, .count = 16, .dtype = GW_DTYPE_F32, .stream = *stream};
    assert_int_equal(gw_comm_all_reduce(comm, &args, NULL), 0);
}

/* This thread waits in CUDA and knows nothing of deadlines: the watchdog ends the work. Freeing one
 * communicator waits for the kernels of the other, which is late, too. */
static void stuck_streams_end_at_their_deadline_although_no_operation_waits(void **state)
{
    struct gw_comm *comm, *part;
    struct gw_error error;
    void *memory[2], *stream[2];
    const struct gw_comm_part split = {.colour = 1};
    set_fault(NULL);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_split(comm, &split, &part, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory[0], &error), 0);
    assert_int_equal(gw_comm_alloc(part, 64, &memory[1], &error), 0);
    gw_comm_set_timeout(comm, 300000000);
    gw_comm_set_timeout(part, 50000000);
    set_fault("stuck");
    stream_reduce(comm, memory[0], &stream[0]);
    stream_reduce(part, memory[1], &stream[1]);
    assert_int_equal(cudaStreamSynchronize(stream[1]), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream[0]), cudaSuccess);
    fake_hold(0);
    assert_int_equal(gw_comm_barrier(part, &error), GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "all_reduce: rank 0: not done after 50ms"));
    assert_int_equal(gw_comm_barrier(comm, &error), GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "all_reduce: rank 0: not done after 300ms"));
    gw_comm_close(part);
    gw_comm_close(comm);
}

/* No call of the library launches a replay: the watchdog sees the device come to the collective. */
static void stuck_replay_of_a_graph_ends_at_its_deadline(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    void *memory, *stream;
    set_fault(NULL);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
    stream_reduce(comm, memory, &stream);
    assert_int_equal(gw_comm_wait(comm, stream, &error), 0);
    gw_comm_set_timeout(comm, 50000000);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    stream_reduce(comm, memory, &stream);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
    gw_comm_set_timeout(comm, MINUTE_NS);
    assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(gw_comm_barrier(comm, &error), 0); /* done: it is not late */
    fake_hold(1);
    assert_int_equal(cudaGraphLaunch(replay, stream), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    fake_hold(0);
    assert_int_equal(gw_comm_barrier(comm, &error), GW_ETIMEDOUT);
    assert_non_null(
        strstr(error.text, "all_reduce: rank 0: in a replay of a graph: not done after 50ms"));
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    gw_comm_close(comm);
}

/* The launcher aborts the gang while this thread waits in CUDA. */
static void stuck_stream_ends_when_the_gang_is_aborted(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory, *stream;
    set_fault("stuck");
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
    stream_reduce(comm, memory, &stream);
    gw_comm_abort(comm, GW_ECRASHED, 3);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    fake_hold(0);
    assert_int_equal(gw_comm_follow(comm, stream, stream, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "rank 3"));
    gw_comm_close(comm);
}

static void trap_run(void *arg)
{
    fake_trap();
}

/* A kernel of rank 0 traps while both ranks reduce: the cause is the GPU of rank 0, on both. */
static int rank_traps(struct world_rank *self)
{
    struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .host = self->comm);
    struct gw_error error;
    void *memory, *stream;
    (void)setenv("NCCL_HOSTID", self->rank ? "one" : "other", 1);
    RANK_CHECK_RC(gw_comm_open_nccl(&options, &self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 64, &memory, &error), 0);
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, &error), 0);
    const struct gw_comm_args args = {
        .recv = memory, .count = 16, .dtype = GW_DTYPE_F32, .stream = stream};
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), 0);
    if (self->rank == 0)
        fake_enqueue(stream, trap_run, malloc(1));
    else
        (void)gw_comm_all_reduce(self->comm, &args, &error); /* it may be known here already */
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, &error), GW_EDEVICE);
    RANK_CHECK(strstr(error.text, "rank 0: its GPU failed (an illegal memory access"));
    return 0;
}

static void trapped_kernel_is_the_cause_on_all_ranks(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 2, .function = rank_traps};
    assert_int_equal(world_run(&world), 0);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void gate_run(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

/* NCCL's abort waits for a kernel of the program that does not end. Operations, and close, wait for
 * the abort two seconds altogether. The rest is freed when the kernel ends. */
static void stuck_kernel_of_the_program_does_not_hold_up_an_abort(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory, *stream;
    set_fault(NULL);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
    assert_int_equal(gw_comm_stream(comm, &stream, &error), 0);
    gw_comm_set_timeout(comm, 50000000);
    pthread_mutex_lock(&gate);
    fake_enqueue(stream, gate_run, malloc(1));
    stream_reduce(comm, memory, &stream);
    assert_int_equal(gw_comm_wait(comm, stream, &error), GW_ETIMEDOUT);
    assert_int_equal(gw_comm_barrier(comm, &error), GW_ETIMEDOUT);
    gw_comm_close(comm);
    pthread_mutex_unlock(&gate);
}

/* Copies and memory wait for the default stream, on which a kernel of the program does not end. */
static void stuck_kernel_of_the_program_ends_an_allocation_at_its_deadline(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory;
    set_fault(NULL);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    gw_comm_set_timeout(comm, 50000000);
    pthread_mutex_lock(&gate);
    fake_enqueue(NULL, gate_run, malloc(1));
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "alloc: rank 0: not done after 50ms"));
    pthread_mutex_unlock(&gate);
    gw_comm_close(comm);
}

/* Freeing waits for the work that a stream still does with the memory, but only until the
 * deadline. */
static void freeing_memory_in_use_waits_until_the_deadline(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory, *stream;
    set_fault(NULL);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 64, &memory, &error), 0);
    assert_int_equal(gw_comm_stream(comm, &stream, &error), 0);
    fake_hold(1);
    const struct gw_comm_args args = {
        .recv = memory, .count = 16, .dtype = GW_DTYPE_F32, .stream = stream};
    assert_int_equal(gw_comm_all_reduce(comm, &args, &error), 0);
    gw_comm_set_timeout(comm, 50000000);
    gw_comm_dealloc(comm, memory);
    const int rc = gw_comm_barrier(comm, &error);
    fake_hold(0);
    assert_int_equal(rc, GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "wait: rank 0: not done after 50ms"));
    gw_comm_close(comm);
}

/* Kernels cannot reach the memory of another GPU than the rank's; copies can. */
static void memory_of_another_gpu_is_refused_on_a_stream(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    void *memory, *stream;
    float x[4] = {1, 2, 3, 4};
    assert_int_equal(setenv("FAKE_CUDA_DEVICES", "2", 1), 0);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_stream(comm, &stream, &error), 0);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaMalloc(&memory, sizeof x), cudaSuccess);
    assert_int_equal(cudaMemcpy(memory, x, sizeof x, cudaMemcpyDefault), cudaSuccess);
    struct gw_comm_args args = {
        .recv = memory, .count = 4, .dtype = GW_DTYPE_F32, .stream = stream};
    assert_int_equal(gw_comm_all_reduce(comm, &args, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "this rank's device memory"));
    assert_int_equal(gw_comm_register(comm, memory, sizeof x, &error), GW_EINVAL);
    args.stream = NULL;
    assert_int_equal(gw_comm_all_reduce(comm, &args, &error), 0);
    assert_int_equal(cudaMemcpy(x, memory, sizeof x, cudaMemcpyDefault), cudaSuccess);
    assert_true(x[0] == 1 && x[3] == 4);
    assert_int_equal(cudaFree(memory), cudaSuccess);
    gw_comm_close(comm);
    assert_int_equal(unsetenv("FAKE_CUDA_DEVICES"), 0);
}

static void hanging_split_times_out(void **state)
{
    struct gw_comm *comm, *part;
    struct gw_error error;
    set_fault("split-hangs");
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    gw_comm_set_timeout(comm, 50000000);
    const struct gw_comm_part split = {.colour = 1};
    assert_int_equal(gw_comm_split(comm, &split, &part, &error), GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "split: rank 0: not done after 50ms"));
    assert_int_equal(gw_comm_barrier(comm, &error), GW_ETIMEDOUT);
    gw_comm_close(comm);
}

/* A failed allocation leaves the communicator usable; if the memory for a copy is missing, the
 * error says so. */
static void out_of_device_memory_is_reported_with_its_purpose(void **state)
{
    static float x[100000];
    struct gw_comm *comm;
    struct gw_error error;
    void *memory;
    set_fault(NULL);
    assert_int_equal(setenv("FAKE_CUDA_MEMORY", "3000000", 1), 0);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 2000000, &memory, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 2000000, &memory, &error), GW_ENOMEM);
    assert_non_null(strstr(error.text, "rank 0 has no 2000000 bytes of device memory"));
    assert_int_equal(gw_comm_barrier(comm, &error), 0);
    assert_int_equal(gw_comm_alloc(comm, 400000, &memory, &error), 0);
    const struct gw_comm_args args = {
        .send = memory, .recv = x, .count = 100000, .dtype = GW_DTYPE_F32};
    assert_int_equal(gw_comm_all_reduce(comm, &args, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "memory for a copy of a buffer: out of memory"));
    gw_comm_close(comm);
    assert_int_equal(unsetenv("FAKE_CUDA_MEMORY"), 0);
}

static void nccl_join_without_a_gpu_returns_enotsup(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    assert_int_equal(setenv("FAKE_CUDA_DEVICES", "0", 1), 0);
    assert_int_equal(join_alone(MINUTE_NS, &comm, &error), GW_ENOTSUP);
    assert_non_null(strstr(error.text, "no GPU"));
    assert_int_equal(unsetenv("FAKE_CUDA_DEVICES"), 0);
}

/* One rank without a GPU: all are told, and go on without NCCL. */
static int rank_without(struct world_rank *self)
{
    struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .host = self->comm);
    struct gw_comm *comm;
    struct gw_error error;
    if (self->rank == 1)
        (void)setenv("FAKE_CUDA_DEVICES", "0", 1);
    RANK_CHECK_RC(gw_comm_open_nccl(&options, &comm, &error), GW_ENOTSUP);
    RANK_CHECK(strstr(error.text, self->rank == 1 ? "no GPU" : "rank 1 cannot use NCCL"));
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), 0);
    return 0;
}

/* Two ranks of one host on one GPU: NCCL says so in the background, after all have joined. */
static int rank_duplicate(struct world_rank *self)
{
    struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .host = self->comm);
    struct gw_comm *comm;
    struct gw_error error;
    RANK_CHECK_RC(gw_comm_open_nccl(&options, &comm, &error), GW_EABORTED);
    RANK_CHECK(strstr(error.text, "NCCL: invalid usage: Duplicate GPU"));
    return 0;
}

static void two_ranks_on_the_same_gpu_are_refused(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 2, .function = rank_duplicate};
    assert_int_equal(world_run(&world), 0);
}

static void rank_without_a_gpu_makes_all_ranks_use_the_host(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 3, .function = rank_without};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_without_a_gpu_makes_all_ranks_use_the_host), /* forks: before this
                                                                              process uses CUDA */
        cmocka_unit_test(trapped_kernel_is_the_cause_on_all_ranks),
        cmocka_unit_test(two_ranks_on_the_same_gpu_are_refused),
        cmocka_unit_test(hanging_nccl_init_times_out),
        cmocka_unit_test(duplicate_gpu_aborts_the_join),
        cmocka_unit_test(background_error_aborts_the_collective),
        cmocka_unit_test(background_error_on_a_stream_aborts_the_next_wait),
        cmocka_unit_test(stuck_collective_ends_at_its_deadline_or_abort),
        cmocka_unit_test(stuck_streams_end_at_their_deadline_although_no_operation_waits),
        cmocka_unit_test(stuck_replay_of_a_graph_ends_at_its_deadline),
        cmocka_unit_test(stuck_kernel_of_the_program_does_not_hold_up_an_abort),
        cmocka_unit_test(stuck_stream_ends_when_the_gang_is_aborted),
        cmocka_unit_test(stuck_kernel_of_the_program_ends_an_allocation_at_its_deadline),
        cmocka_unit_test(freeing_memory_in_use_waits_until_the_deadline),
        cmocka_unit_test(memory_of_another_gpu_is_refused_on_a_stream),
        cmocka_unit_test(hanging_split_times_out),
        cmocka_unit_test(out_of_device_memory_is_reported_with_its_purpose),
        cmocka_unit_test(nccl_join_without_a_gpu_returns_enotsup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
