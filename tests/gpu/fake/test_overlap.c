/* Gradient buckets beside backward, against the fakes: a bucket's reduction begins after what
 * backward had enqueued when it was ready, and does not wait for, nor hold up, what comes later. */
#include "tests/gpu/fake/fake.h"
#include "tests/unit/gpu/comm_world.h"

#include <gangway/ddp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct comm_backend_hooks comm_nccl_hooks;

enum { PARAMS = 2, COUNT = 1000 };

static world_function rank_leaves_out;

/* What backward does for one parameter: waits at a gate, then adds to its gradient. */
struct kernel {
    float *gradient;
    float value;
    struct gate *gate; /* NULL: none */
};

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
};

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

static void kernel_run(void *arg)
{
    const struct kernel *kernel = arg;
    struct gate *gate = kernel->gate;
    if (gate) {
        pthread_mutex_lock(&gate->mutex);
        while (!gate->open)
            pthread_cond_wait(&gate->changed, &gate->mutex);
        pthread_mutex_unlock(&gate->mutex);
    }
    float *gradient = fake_reach(kernel->gradient);
    for (size_t i = 0; i < COUNT; i++)
        gradient[i] += kernel->value;
}

static void launch(cudaStream_t stream, struct kernel kernel)
{
    struct kernel *arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = kernel;
    fake_enqueue(stream, kernel_run, arg);
}

static bool gradient_is(struct gw_ddp *ddp, size_t i, float value)
{
    float host[COUNT];
    if (cudaMemcpy(host, gw_ddp_gradient(ddp, i), sizeof host, cudaMemcpyDefault) != cudaSuccess)
        return false;
    for (size_t k = 0; k < COUNT; k++)
        if (host[k] != value)
            return false;
    return true;
}

static int ddp_open(struct world_rank *self, cudaStream_t stream, bool no_overlap,
                    struct gw_ddp **ddp)
{
    const bool find_unused = self->world->function == rank_leaves_out;
    struct gw_ddp_param params[PARAMS];
    struct gw_error error = {.code = 0};
    for (int i = 0; i < PARAMS; i++) {
        params[i] =
            (struct gw_ddp_param){.name = "w", .dtype = GW_DTYPE_F32, .dims = 1, .shape = {COUNT}};
        if (gw_comm_alloc(self->comm, COUNT * sizeof(float), &params[i].data, &error) < 0)
            return error.code;
    }
    const struct gw_ddp_options options = GW_INIT(
        gw_ddp_options, .comm = self->comm, .params = params, .params_count = PARAMS,
        .first_bucket_bytes = find_unused ? 0 : 1, /* one bucket, or one a parameter */
        .bucket_bytes = 1, .stream = stream, .no_overlap = no_overlap, .find_unused = find_unused);
    int rc = gw_ddp_open(&options, ddp, &error);
    if (rc < 0)
        (void)fprintf(stderr, "%s\n", error.text);
    return rc;
}

/* The last parameter's bucket is held in the middle of its reduction; backward goes on to its end
 * all the same. With everything on one stream it could not, and this would wait for ever. */
static int rank_overlaps(struct world_rank *self)
{
    struct gw_ddp *ddp;
    cudaStream_t stream;
    const float mine = (float)(self->rank + 1), mean = (float)(self->ranks + 1) / 2;
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK_RC(ddp_open(self, stream, false, &ddp), 0);
    for (int step = 1; step <= 3; step++) {
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
        fake_hold(1);
        launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 1), .value = mine});
        RANK_CHECK_RC(gw_ddp_ready(ddp, 1, NULL), 0);
        launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 0), .value = 2 * mine});
        RANK_CHECK(cudaStreamSynchronize(stream) == cudaSuccess); /* backward is at its end */
        RANK_CHECK(gradient_is(ddp, 1, mine));                    /* and nothing is reduced */
        fake_hold(0);
        RANK_CHECK_RC(gw_ddp_ready(ddp, 0, NULL), 0);
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
        RANK_CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        RANK_CHECK(gradient_is(ddp, 1, mean) && gradient_is(ddp, 0, 2 * mean));
    }
    gw_ddp_close(ddp);
    RANK_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

/* A bucket that is marked ready while its gradient is still being made waits for it, also where
 * that is on the reductions' own stream (no_overlap). */
static int rank_keeps_order(struct world_rank *self)
{
    struct gw_ddp *ddp;
    cudaStream_t stream;
    const float mine = (float)(self->rank + 1), mean = (float)(self->ranks + 1) / 2;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK_RC(ddp_open(self, stream, *(const bool *)self->context, &ddp), 0);
    gw_ddp_zero(ddp);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    launch(stream,
           (struct kernel){.gradient = gw_ddp_gradient(ddp, 1), .value = mine, .gate = &gate});
    RANK_CHECK_RC(gw_ddp_ready(ddp, 1, NULL), 0);
    launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 0), .value = 2 * mine});
    RANK_CHECK_RC(gw_ddp_ready(ddp, 0, NULL), 0);
    gate_open(&gate);
    RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    RANK_CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    RANK_CHECK(gradient_is(ddp, 1, mean) && gradient_is(ddp, 0, 2 * mean));
    gw_ddp_close(ddp);
    RANK_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

/* gw_ddp_finish returns while the reductions are held. Work that is put on the stream after it,
 * such as an optimizer, sees the mean all the same. */
static int rank_finishes_early(struct world_rank *self)
{
    struct gw_ddp *ddp;
    cudaStream_t stream;
    const float mine = (float)(self->rank + 1), mean = (float)(self->ranks + 1) / 2;
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK_RC(ddp_open(self, stream, *(const bool *)self->context, &ddp), 0);
    gw_ddp_zero(ddp);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    fake_hold(1);
    for (size_t i = PARAMS; i-- > 0;) {
        launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, i), .value = mine});
        RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
    }
    RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 0), .value = 10});
    fake_hold(0);
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
    RANK_CHECK(gradient_is(ddp, 1, mean) && gradient_is(ddp, 0, mean + 10));
    gw_ddp_close(ddp);
    RANK_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

/* Parameter 1 is used on rank 0 only, parameter 0 nowhere: its gradient stays as it is. */
static int rank_leaves_out(struct world_rank *self)
{
    struct gw_ddp *ddp;
    cudaStream_t stream;
    const float mine = (float)(self->rank + 1);
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK_RC(ddp_open(self, stream, *(const bool *)self->context, &ddp), 0);
    for (int step = 0; step < 2; step++) {
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
        launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 0), .value = mine});
        if (self->rank == 0) {
            launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 1), .value = 6});
            RANK_CHECK_RC(gw_ddp_ready(ddp, 1, NULL), 0);
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
        RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
        RANK_CHECK(gradient_is(ddp, 1, 3) && gradient_is(ddp, 0, mine));
    }
    gw_ddp_close(ddp);
    RANK_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

static void gradients_of_unused_parameters_stay_with_a_stream(void **state)
{
    for (int i = 0; i < 2; i++) {
        bool no_overlap = i > 0;
        struct world world = {.hooks = &comm_nccl_hooks,
                              .ranks = 2,
                              .function = rank_leaves_out,
                              .context = &no_overlap};
        assert_int_equal(world_run(&world), 0);
    }
}

static void finish_makes_the_stream_wait_and_not_the_host(void **state)
{
    for (int i = 0; i < 2; i++) {
        bool no_overlap = i > 0;
        struct world world = {.hooks = &comm_nccl_hooks,
                              .ranks = 2,
                              .function = rank_finishes_early,
                              .context = &no_overlap};
        assert_int_equal(world_run(&world), 0);
    }
}

/* Rank 1 never marks a parameter ready, and leaves. The work of rank 0 ends long before its
 * deadline. */
static int rank_never_ready(struct world_rank *self)
{
    struct gw_ddp *ddp;
    cudaStream_t stream;
    struct gw_error error;
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK_RC(ddp_open(self, stream, false, &ddp), 0);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    const int rc = gw_ddp_ready(ddp, 1, NULL);
    if (self->rank == 1) {
        RANK_CHECK_RC(rc, 0);
        RANK_CHECK_RC(gw_ddp_finish(ddp, &error), GW_EINVAL);
        RANK_CHECK(strstr(error.text, "parameter 0 (\"w\") was not marked ready"));
    } else {
        (void)gw_ddp_ready(ddp, 0, NULL); /* rank 1 may have left already, also before `rc` */
        (void)gw_ddp_finish(ddp, NULL);
        RANK_CHECK_RC(gw_comm_wait(self->comm, stream, &error), GW_EABORTED);
        RANK_CHECK(strstr(error.text, "aborted: rank 1"));
    }
    gw_ddp_close(ddp);
    RANK_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

static void parameter_that_is_never_ready_ends_the_pass_on_all_ranks(void **state)
{
    struct world world = {.hooks = &comm_nccl_hooks, .ranks = 2, .function = rank_never_ready};
    assert_int_equal(world_run(&world), 0);
}

/* Waits until the watchdog has asked for the event of work that does not end. */
static void await_watchdog(void)
{
    const unsigned before = fake_count(FAKE_QUERY);
    while (fake_count(FAKE_QUERY) < before + 2)
        (void)sched_yield();
}

/* A whole step in a graph: each replay is one launch, and reduces again. */
static int rank_captures(struct world_rank *self)
{
    struct gw_ddp *ddp;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    void *memory;
    const float mine = (float)(self->rank + 1), mean = (float)(self->ranks + 1) / 2;
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK_RC(ddp_open(self, stream, *(const bool *)self->context, &ddp), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 4, &memory, NULL), 0);
    fake_hold(1); /* work that the watchdog looks after during the capture */
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.recv = memory, .count = 1, .dtype = GW_DTYPE_F32,
                                                  .stream = stream),
                                     NULL),
                  0);
    RANK_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    gw_ddp_zero(ddp);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    for (size_t i = PARAMS; i-- > 0;) {
        launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, i), .value = mine});
        RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
    }
    RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    launch(stream, (struct kernel){.gradient = gw_ddp_gradient(ddp, 0), .value = 10});
    await_watchdog();
    RANK_CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    RANK_CHECK(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess);
    fake_hold(0);
    for (int step = 0; step < 3; step++) {
        const unsigned before = fake_count(FAKE_LAUNCH);
        RANK_CHECK(cudaGraphLaunch(replay, stream) == cudaSuccess);
        RANK_CHECK(fake_count(FAKE_LAUNCH) == before + 1);
        RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
        RANK_CHECK(gradient_is(ddp, 1, mean) && gradient_is(ddp, 0, mean + 10));
    }
    RANK_CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    gw_ddp_close(ddp);
    RANK_CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    return 0;
}

static void step_can_be_captured_in_a_graph(void **state)
{
    for (int i = 0; i < 2; i++) {
        bool no_overlap = i > 0;
        struct world world = {.hooks = &comm_nccl_hooks,
                              .ranks = 2,
                              .function = rank_captures,
                              .context = &no_overlap};
        assert_int_equal(world_run(&world), 0);
    }
}

/* Without a stream an operation begins after what the default stream has, as other work of a
 * program that knows of no streams does. */
static int rank_follows_default(struct world_rank *self)
{
    void *memory;
    float host[COUNT];
    const float mine = (float)(self->rank + 1), all = (float)(self->ranks * (self->ranks + 1) / 2);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof host, &memory, NULL), 0);
    launch(NULL, (struct kernel){.gradient = memory, .value = mine});
    const struct gw_comm_args args = {.recv = memory, .count = COUNT, .dtype = GW_DTYPE_F32};
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm, &args, NULL), 0);
    RANK_CHECK(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDefault) == cudaSuccess);
    for (size_t i = 0; i < COUNT; i++)
        RANK_CHECK(host[i] == all);
    return 0;
}

static void operation_without_a_stream_follows_the_default_stream(void **state)
{
    struct world world = {.hooks = &comm_nccl_hooks, .ranks = 2, .function = rank_follows_default};
    assert_int_equal(world_run(&world), 0);
}

static void bucket_reduction_overlaps_the_backward_pass(void **state)
{
    for (int ranks = 1; ranks <= 3; ranks++) {
        struct world world = {.hooks = &comm_nccl_hooks, .ranks = ranks, .function = rank_overlaps};
        assert_int_equal(world_run(&world), 0);
    }
}

static void bucket_reduction_waits_for_its_gradient(void **state)
{
    for (int ranks = 1; ranks <= 3; ranks++)
        for (int i = 0; i < 2; i++) {
            bool no_overlap = i > 0;
            struct world world = {.hooks = &comm_nccl_hooks,
                                  .ranks = ranks,
                                  .function = rank_keeps_order,
                                  .context = &no_overlap};
            assert_int_equal(world_run(&world), 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_reduction_overlaps_the_backward_pass),
        cmocka_unit_test(bucket_reduction_waits_for_its_gradient),
        cmocka_unit_test(gradients_of_unused_parameters_stay_with_a_stream),
        cmocka_unit_test(finish_makes_the_stream_wait_and_not_the_host),
        cmocka_unit_test(parameter_that_is_never_ready_ends_the_pass_on_all_ranks),
        cmocka_unit_test(step_can_be_captured_in_a_graph),
        cmocka_unit_test(operation_without_a_stream_follows_the_default_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
