/* Optimizers, clipping and loss scaling in device memory beside the same calls in host memory,
 * whose results other tests compare with formulas. */
#include "tests/unit/gpu/comm_world.h"

#include <cuda_runtime_api.h>
#include <gangway/clip.h>
#include <gangway/scaler.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { COUNT = 40000, FIRST = 17001, STEPS = 6, BYTES = COUNT * 8 }; /* three pieces */

/* The same parameters on the host and on the device. */
struct pair {
    struct gw_optimizer *host, *device;
    enum gw_dtype dtype;
    void *w, *g; /* on the device */
};

static _Alignas(8) unsigned char host_w[BYTES], host_g[BYTES], seen[BYTES];

static void store(void *to, enum gw_dtype dtype, size_t i, double value)
{
    switch (dtype) {
    case GW_DTYPE_F64:
        ((double *)to)[i] = value;
        break;
    case GW_DTYPE_BF16:
        ((uint16_t *)to)[i] = gw_bf16_from_f32((float)value);
        break;
    case GW_DTYPE_F16:
        ((uint16_t *)to)[i] = gw_f16_from_f32((float)value);
        break;
    default:
        ((float *)to)[i] = (float)value;
        break;
    }
}

static double load(const void *from, enum gw_dtype dtype, size_t i)
{
    switch (dtype) {
    case GW_DTYPE_F64:
        return ((const double *)from)[i];
    case GW_DTYPE_BF16:
        return (double)gw_bf16_to_f32(((const uint16_t *)from)[i]);
    case GW_DTYPE_F16:
        return (double)gw_f16_to_f32(((const uint16_t *)from)[i]);
    default:
        return (double)((const float *)from)[i];
    }
}

static int optimizer_of(const struct pair *pair, struct gw_optimizer_options options, void *stream,
                        struct gw_optimizer **optimizer)
{
    const size_t first = FIRST * gw_dtype_size(pair->dtype);
    char *w = stream ? pair->w : (void *)host_w, *g = stream ? pair->g : (void *)host_g;
    const struct gw_optimizer_tensor tensors[] = {
        {.data = w, .gradient = g, .count = FIRST, .dtype = pair->dtype},
        {.data = w + first,
         .gradient = g + first,
         .count = COUNT - FIRST,
         .dtype = pair->dtype,
         .no_decay = true},
    };
    struct gw_error error;
    options.stream = stream;
    int rc = gw_optimizer_new(&options, tensors, 2, optimizer, &error);
    if (rc < 0)
        (void)fprintf(stderr, "%s\n", error.text);
    return rc;
}

static int pair_init(struct world_rank *self, struct pair *pair, enum gw_dtype dtype,
                     const struct gw_optimizer_options *options, void *stream)
{
    pair->dtype = dtype;
    for (size_t i = 0; i < COUNT; i++)
        store(host_w, dtype, i, 1 + sin((double)i));
    hooks->copy(pair->w, host_w, BYTES);
    RANK_CHECK_RC(optimizer_of(pair, *options, NULL, &pair->host), 0);
    RANK_CHECK_RC(optimizer_of(pair, *options, stream, &pair->device), 0);
    return 0;
}

static void pair_deinit(struct pair *pair)
{
    gw_optimizer_free(pair->host);
    gw_optimizer_free(pair->device);
}

static void gradients_make(const struct pair *pair, int step)
{
    for (size_t i = 0; i < COUNT; i++)
        store(host_g, pair->dtype, i, sin((double)i * 0.7 + step) / (1 + step % 3));
    hooks->copy(pair->g, host_g, BYTES);
}

/* The largest difference of a parameter. */
static double difference(struct world_rank *self, const struct pair *pair, void *stream)
{
    double largest = 0;
    if (gw_comm_wait(self->comm, stream, NULL) < 0)
        return INFINITY;
    hooks->copy(seen, pair->w, BYTES);
    for (size_t i = 0; i < COUNT; i++)
        largest = fmax(largest, fabs(load(seen, pair->dtype, i) - load(host_w, pair->dtype, i)));
    return largest;
}

/* Half of the steps are clipped. In the middle another optimizer continues from the state. */
static int check(struct world_rank *self, struct pair *pair, enum gw_dtype dtype,
                 const struct gw_optimizer_options *options)
{
    static const double limits[] = {[GW_DTYPE_F32] = 1e-6,
                                    [GW_DTYPE_F64] = 1e-14,
                                    [GW_DTYPE_BF16] = 0x1p-7,
                                    [GW_DTYPE_F16] = 0x1p-10};
    void *stream;
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, NULL), 0);
    RANK_CHECK_RC(pair_init(self, pair, dtype, options, stream), 0);
    for (int step = 0; step < STEPS; step++) {
        double norms[2] = {0, 0};
        size_t bytes;
        gradients_make(pair, step);
        if (step % 2) {
            RANK_CHECK_RC(gw_clip_norm(pair->host, 20, NULL, &norms[0], NULL), 0);
            RANK_CHECK_RC(gw_clip_norm(pair->device, 20, NULL, &norms[1], NULL), 0);
            RANK_CHECK(norms[0] > 20 && fabs(norms[0] - norms[1]) < 1e-9 * norms[0]);
        }
        RANK_CHECK_RC(gw_optimizer_step(pair->host, NULL), 0);
        RANK_CHECK_RC(gw_optimizer_step(pair->device, NULL), 0);
        RANK_CHECK(difference(self, pair, stream) < limits[dtype]);
        if (step == STEPS / 2) {
            struct gw_optimizer *before = pair->device;
            const void *saved = gw_optimizer_state(before, &bytes);
            RANK_CHECK(saved);
            RANK_CHECK_RC(optimizer_of(pair, *options, stream, &pair->device), 0);
            RANK_CHECK_RC(gw_optimizer_set_state(pair->device, saved, bytes, NULL), 0);
            gw_optimizer_free(before);
        }
    }
    pair_deinit(pair);
    return 0;
}

static int memory_make(struct world_rank *self, struct pair *pair)
{
    RANK_CHECK_RC(gw_comm_alloc(self->comm, BYTES, &pair->w, NULL), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, BYTES, &pair->g, NULL), 0);
    return 0;
}

static int rank_steps(struct world_rank *self)
{
    static const enum gw_dtype dtypes[] = {GW_DTYPE_F32, GW_DTYPE_F64, GW_DTYPE_BF16, GW_DTYPE_F16};
    struct gw_optimizer_options all[] = {gw_optimizer_sgd(0.1),   gw_optimizer_sgd(0.1),
                                         gw_optimizer_adam(0.01), gw_optimizer_adamw(0.01),
                                         gw_lars_options(0.1),    gw_lamb_options(0.01)};
    struct pair pair = {0};
    RANK_CHECK_RC(memory_make(self, &pair), 0);
    all[1].momentum = 0.9;
    all[1].nesterov = true;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        all[k].weight_decay = 0.01;
        for (size_t d = 0; d < 4; d++)
            RANK_CHECK_RC(check(self, &pair, dtypes[d], &all[k]), 0);
    }
    return 0;
}

static void steps_on_a_device_equal_steps_on_the_host(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 1, .function = rank_steps};
    assert_int_equal(world_run(&world), 0);
}

/* Each rank has a shard; one has an infinity in the last element. */
static int rank_skips(struct world_rank *self)
{
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(0.1);
    struct pair pair = {0};
    struct gw_scaler *scaler;
    bool stepped;
    void *stream;
    RANK_CHECK_RC(memory_make(self, &pair), 0);
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, NULL), 0);
    RANK_CHECK_RC(pair_init(self, &pair, GW_DTYPE_F16, &sgd, stream), 0);
    RANK_CHECK_RC(gw_scaler_new(NULL, &scaler, NULL), 0);
    gradients_make(&pair, 0);
    store(host_g, GW_DTYPE_F16, COUNT - 1, self->rank == self->ranks - 1 ? INFINITY : 0);
    hooks->copy(pair.g, host_g, BYTES);
    RANK_CHECK_RC(gw_scaler_step(scaler, pair.device, self->comm, &stepped, NULL), 0);
    RANK_CHECK(!stepped && gw_scaler_scale(scaler) == 32768);
    RANK_CHECK(difference(self, &pair, stream) == 0);
    gradients_make(&pair, 0);
    RANK_CHECK_RC(gw_scaler_step(scaler, pair.device, self->comm, &stepped, NULL), 0);
    RANK_CHECK(stepped);
    gw_scaler_free(scaler);
    pair_deinit(&pair);
    return 0;
}

static void infinity_on_one_device_skips_the_step_of_all(void **state)
{
    for (int ranks = 1; ranks <= 2; ranks++) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_skips};
        assert_int_equal(world_run(&world), 0);
    }
}

static int capture(struct world_rank *self, struct gw_optimizer *optimizer, cudaStream_t stream,
                   cudaGraph_t *graph)
{
    RANK_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    int rc = gw_optimizer_step(optimizer, NULL);
    RANK_CHECK(cudaStreamEndCapture(stream, graph) == cudaSuccess);
    return rc;
}

/* One step without a graph, then one graph for all others; each has a rate of its own. */
static int rank_replays(struct world_rank *self)
{
    struct gw_optimizer_options all[] = {gw_optimizer_sgd(0.1), gw_optimizer_adam(0.01),
                                         gw_lamb_options(0.01)};
    struct pair pair = {0};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    struct gw_error error;
    size_t bytes;
    RANK_CHECK_RC(memory_make(self, &pair), 0);
    RANK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    all[0].momentum = 0.9;
    for (int k = 0; k < 3; k++) {
        RANK_CHECK_RC(pair_init(self, &pair, GW_DTYPE_F32, &all[k], stream), 0);
        for (int step = 0; step < STEPS; step++) {
            gradients_make(&pair, step);
            gw_optimizer_set_lr(pair.host, 0.01 * (step + 1));
            gw_optimizer_set_lr(pair.device, 0.01 * (step + 1));
            RANK_CHECK_RC(gw_optimizer_step(pair.host, NULL), 0);
            if (step == 0) {
                RANK_CHECK_RC(gw_optimizer_step(pair.device, NULL), 0);
            } else if (step == 1) {
                RANK_CHECK_RC(capture(self, pair.device, stream, &graph), 0);
                RANK_CHECK(cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess);
            }
            if (step > 0)
                RANK_CHECK(cudaGraphLaunch(replay, stream) == cudaSuccess);
            RANK_CHECK(difference(self, &pair, stream) < 1e-6);
        }
        const void *states[] = {gw_optimizer_state(pair.host, &bytes),
                                gw_optimizer_state(pair.device, &bytes)};
        RANK_CHECK(memcmp(states[0], states[1], 32) == 0); /* the heads, with the count of steps */
        RANK_CHECK(cudaGraphDestroy(graph) == cudaSuccess);
        pair_deinit(&pair);
    }
    RANK_CHECK_RC(pair_init(self, &pair, GW_DTYPE_F32, &all[0], stream), 0);
    RANK_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    gw_optimizer_set_lr(pair.device, 0.5);
    RANK_CHECK_RC(gw_optimizer_step(pair.device, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, "between launches of the graph"));
    RANK_CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    pair_deinit(&pair);
    return 0;
}

static void captured_step_follows_the_learning_rate(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 1, .function = rank_replays};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_on_a_device_equal_steps_on_the_host),
        cmocka_unit_test(captured_step_follows_the_learning_rate),
        cmocka_unit_test(infinity_on_one_device_skips_the_step_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
