/* Data-parallel training on a stream, in times of the GPU's events: the reduction of gradients runs
 * beside the backward pass, and a captured step replays. Device-to-device copies stand for
 * backward. `nccl_stream BYTES` sets the size of a copy. Prints figures. */
#include "tests/unit/gpu/comm_world.h"

#include <cuda_runtime_api.h>
#include <gangway/ddp.h>
#include <gangway/optimizer.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

extern const struct comm_backend_hooks COMM_HOOKS;

#ifndef COPY_BYTES /* long enough for a GPU; the fakes take less */
#define COPY_BYTES (256 << 20)
#endif

enum { PARAMS = 4, COUNT = 1 << 18, REPEATS = 5, COPIES_MAX = 1000, REPLAYS = 10 };

static const double hidden_min = 0.3; /* of the shorter of the two; 1 - 1 / PARAMS is possible */
static size_t copy_bytes = COPY_BYTES;

struct training {
    struct gw_ddp *ddp;
    cudaStream_t stream;
    cudaEvent_t start, end;
    void *weights[PARAMS];
    void *from, *to; /* of copies */
    int copies;      /* of backward, for each parameter */
};

static int training_init(struct world_rank *self, struct training *training, bool no_overlap)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_error error = {.text = ""};
    RANK_CHECK(cudaStreamCreateWithFlags(&training->stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK(cudaEventCreateWithFlags(&training->start, cudaEventDefault) == cudaSuccess);
    RANK_CHECK(cudaEventCreateWithFlags(&training->end, cudaEventDefault) == cudaSuccess);
    RANK_CHECK(cudaMalloc(&training->from, copy_bytes) == cudaSuccess);
    RANK_CHECK(cudaMalloc(&training->to, copy_bytes) == cudaSuccess);
    for (int i = 0; i < PARAMS; i++) {
        RANK_CHECK_RC(
            gw_comm_alloc(self->comm, COUNT * sizeof(float), &training->weights[i], &error), 0);
        RANK_CHECK(cudaMemsetAsync(training->weights[i], 0, COUNT * sizeof(float),
                                   training->stream) == cudaSuccess);
        params[i] = (struct gw_ddp_param){.name = "w",
                                          .dtype = GW_DTYPE_F32,
                                          .dims = 1,
                                          .shape = {COUNT},
                                          .data = training->weights[i]};
    }
    const struct gw_ddp_options options =
        GW_INIT(gw_ddp_options, .comm = self->comm, .params = params, .params_count = PARAMS,
                .first_bucket_bytes = 1, /* a bucket for each parameter */
                .bucket_bytes = 1, .stream = training->stream, .no_overlap = no_overlap);
    RANK_CHECK_RC(gw_ddp_open(&options, &training->ddp, &error), 0);
    return 0;
}

static void training_deinit(struct training *training)
{
    gw_ddp_close(training->ddp);
    (void)cudaFree(training->from);
    (void)cudaFree(training->to);
    (void)cudaEventDestroy(training->start);
    (void)cudaEventDestroy(training->end);
    (void)cudaStreamDestroy(training->stream);
}

static int copies_launch(const struct training *training)
{
    cudaError_t rc = cudaSuccess;
    for (int k = 0; k < training->copies && rc == cudaSuccess; k++)
        rc = cudaMemcpyAsync(training->to, training->from, copy_bytes, cudaMemcpyDefault,
                             training->stream);
    return rc == cudaSuccess ? 0 : GW_EIO;
}

/* -- Times of the device -------------------------------------------------------------------------
 */

static int backward_alone(struct training *training)
{
    int rc = 0;
    for (int i = 0; i < PARAMS && rc == 0; i++)
        rc = copies_launch(training);
    return rc;
}

static int step(struct training *training)
{
    int rc = gw_ddp_begin(training->ddp, true, NULL);
    for (size_t i = PARAMS; i-- > 0 && rc == 0;) {
        rc = copies_launch(training);
        if (rc == 0)
            rc = gw_ddp_ready(training->ddp, i, NULL);
    }
    return rc == 0 ? gw_ddp_finish(training->ddp, NULL) : rc;
}

static int compare_times(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* The median, after one that does not count. */
static int measure(struct world_rank *self, struct training *training,
                   int (*work)(struct training *training), float *median_ms)
{
    float all_ms[REPEATS];
    for (int i = -1; i < REPEATS; i++) {
        RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
        gw_ddp_zero(training->ddp);
        RANK_CHECK(cudaEventRecord(training->start, training->stream) == cudaSuccess);
        RANK_CHECK_RC(work(training), 0);
        RANK_CHECK(cudaEventRecord(training->end, training->stream) == cudaSuccess);
        RANK_CHECK_RC(gw_comm_wait(self->comm, training->stream, NULL), 0);
        RANK_CHECK(cudaEventElapsedTime(&all_ms[i < 0 ? 0 : i], training->start, training->end) ==
                   cudaSuccess);
    }
    qsort(all_ms, REPEATS, sizeof all_ms[0], compare_times);
    *median_ms = all_ms[REPEATS / 2];
    return 0;
}

/* Gives backward the time of the reductions. */
static int calibrate(struct world_rank *self, struct training *training, float reduction_ms)
{
    float copies_ms;
    training->copies = 8;
    RANK_CHECK(measure(self, training, backward_alone, &copies_ms) == 0);
    const float copies = reduction_ms / (copies_ms / 8);
    training->copies = copies < 1 ? 1 : copies > COPIES_MAX ? COPIES_MAX : (int)copies;
    RANK_CHECK_RC(gw_comm_broadcast(
                      self->comm,
                      GW_COMM_ARGS(.recv = &training->copies, .count = 1, .dtype = GW_DTYPE_I32),
                      NULL),
                  0);
    return 0;
}

static int rank_overlaps(struct world_rank *self)
{
    struct training beside = {0}, after = {0};
    float reduction_ms, backward_ms, after_ms, beside_ms;
    RANK_CHECK(training_init(self, &beside, false) == 0);
    RANK_CHECK(training_init(self, &after, true) == 0);
    RANK_CHECK(measure(self, &after, step, &reduction_ms) == 0);
    RANK_CHECK(calibrate(self, &after, reduction_ms) == 0);
    beside.copies = after.copies;
    RANK_CHECK(measure(self, &after, backward_alone, &backward_ms) == 0);
    RANK_CHECK(measure(self, &after, step, &after_ms) == 0);
    RANK_CHECK(measure(self, &beside, step, &beside_ms) == 0);
    const float shorter_ms = reduction_ms < backward_ms ? reduction_ms : backward_ms;
    const double hidden = (double)((after_ms - beside_ms) / shorter_ms);
    if (self->rank == 0)
        printf("figure reduction_ms %.3f\nfigure backward_ms %.3f\nfigure one_after_another_ms "
               "%.3f\nfigure beside_ms %.3f\nfigure hidden %.2f\n",
               (double)reduction_ms, (double)backward_ms, (double)after_ms, (double)beside_ms,
               hidden);
    (void)fflush(stdout);
    RANK_CHECK(hidden >= hidden_min);
    training_deinit(&beside);
    training_deinit(&after);
    return 0;
}

static void reduction_runs_beside_backward_in_event_times(void **state)
{
    struct world world = {.hooks = &COMM_HOOKS, .ranks = 2, .function = rank_overlaps};
    assert_int_equal(world_run(&world), 0);
}

/* -- A captured step -----------------------------------------------------------------------------
 */

/* Fills the gradients from `from`, reduces them and steps. */
static int whole_step(const struct training *training, struct gw_optimizer *optimizer)
{
    int rc = gw_ddp_begin(training->ddp, true, NULL);
    for (size_t i = PARAMS; i-- > 0 && rc == 0;) {
        if (cudaMemcpyAsync(gw_ddp_gradient(training->ddp, i), training->from,
                            COUNT * sizeof(float), cudaMemcpyDefault,
                            training->stream) != cudaSuccess)
            return GW_EIO;
        rc = gw_ddp_ready(training->ddp, i, NULL);
    }
    if (rc == 0)
        rc = gw_ddp_finish(training->ddp, NULL);
    return rc == 0 ? gw_optimizer_step(optimizer, NULL) : rc;
}

static int fill(void *memory, float value)
{
    static float host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = value;
    return cudaMemcpy(memory, host, sizeof host, cudaMemcpyDefault) == cudaSuccess ? 0 : GW_EIO;
}

static bool holds(const void *memory, float value)
{
    static float host[COUNT];
    if (cudaMemcpy(host, memory, sizeof host, cudaMemcpyDefault) != cudaSuccess)
        return false;
    for (int i = 0; i < COUNT; i++)
        if (host[i] != value)
            return false;
    return true;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* A replay reads the gradients of its own time. */
static int replays_check(struct world_rank *self, const struct training *training,
                         cudaGraphExec_t replay, float weight)
{
    double took_us = 0;
    for (int i = 0; i < REPLAYS; i++) {
        RANK_CHECK_RC(fill(training->from, (float)(self->rank + i)), 0);
        weight -= ((float)(self->ranks - 1) / 2 + (float)i) / 2; /* the mean, by the rate */
        const double began_us = now_us();
        RANK_CHECK(cudaGraphLaunch(replay, training->stream) == cudaSuccess);
        took_us += now_us() - began_us;
        RANK_CHECK_RC(gw_comm_wait(self->comm, training->stream, NULL), 0);
        for (int k = 0; k < PARAMS; k++)
            RANK_CHECK(holds(training->weights[k], weight));
    }
    if (self->rank == 0)
        printf("figure replay_launch_us %.1f\n", took_us / REPLAYS);
    (void)fflush(stdout);
    return 0;
}

static int rank_replays(struct world_rank *self)
{
    struct training training = {0};
    struct gw_optimizer_tensor tensors[PARAMS];
    struct gw_optimizer_options options = gw_optimizer_sgd(0.5);
    struct gw_optimizer *optimizer;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    copy_bytes = COUNT * sizeof(float);
    RANK_CHECK(training_init(self, &training, false) == 0);
    for (size_t i = 0; i < PARAMS; i++)
        tensors[i] = (struct gw_optimizer_tensor){.data = training.weights[i],
                                                  .gradient = gw_ddp_gradient(training.ddp, i),
                                                  .count = COUNT,
                                                  .dtype = GW_DTYPE_F32};
    options.stream = training.stream;
    RANK_CHECK_RC(gw_optimizer_new(&options, tensors, PARAMS, &optimizer, NULL), 0);
    RANK_CHECK_RC(fill(training.from, (float)(4 * self->rank)), 0);
    const double began_us = now_us();
    RANK_CHECK_RC(whole_step(&training, optimizer), 0);
    if (self->rank == 0)
        printf("figure step_launch_us %.1f\n", now_us() - began_us);
    RANK_CHECK_RC(gw_comm_wait(self->comm, training.stream, NULL), 0);
    RANK_CHECK(cudaStreamBeginCapture(training.stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    RANK_CHECK_RC(whole_step(&training, optimizer), 0);
    RANK_CHECK(cudaStreamEndCapture(training.stream, &graph) == cudaSuccess);
    RANK_CHECK(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess);
    RANK_CHECK(replays_check(self, &training, replay, (float)(1 - self->ranks)) == 0);
    RANK_CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    gw_optimizer_free(optimizer);
    training_deinit(&training);
    return 0;
}

static void captured_step_replays_with_new_gradients(void **state)
{
    for (int ranks = 1; ranks <= 2; ranks++) {
        struct world world = {.hooks = &COMM_HOOKS, .ranks = ranks, .function = rank_replays};
        assert_int_equal(world_run(&world), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduction_runs_beside_backward_in_event_times),
        cmocka_unit_test(captured_step_replays_with_new_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
