/* Training by N ranks equals training by one with N times the batch, up to rounding; for the
 * backend of COMM_HOOKS, whose gradients may lie in a device's memory. */
#include "tests/unit/gpu/comm_world.h"

#include <gangway/ddp.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { FEATURES = 37, BATCH = 8, STEPS = 25 };

static double feature(size_t sample, size_t k)
{
    return sin((double)(sample * 31 + k * 7));
}

static double target(size_t sample)
{
    return cos((double)sample * 0.3) + 0.5;
}

/* The mean gradient of squared errors over `count` samples from `first` on. */
static void gradient_of(const double weights[FEATURES], size_t first, size_t count,
                        double gradient[FEATURES])
{
    memset(gradient, 0, FEATURES * sizeof *gradient);
    for (size_t sample = first; sample < first + count; sample++) {
        double error = -target(sample);
        for (size_t k = 0; k < FEATURES; k++)
            error += weights[k] * feature(sample, k);
        for (size_t k = 0; k < FEATURES; k++)
            gradient[k] += 2 * error * feature(sample, k) / (double)count;
    }
}

static void step_down(double weights[FEATURES], const double gradient[FEATURES])
{
    for (size_t k = 0; k < FEATURES; k++)
        weights[k] -= 0.02 * gradient[k];
}

static int rank_trains(struct world_rank *self)
{
    const size_t all = BATCH * (size_t)self->ranks;
    double weights[FEATURES], alone[FEATURES] = {0}, gradient[FEATURES];
    struct gw_ddp_param params[2] = {
        {.name = "w", .data = weights, .dtype = GW_DTYPE_F64, .dims = 1, .shape = {30}},
        {.name = "v", .data = weights + 30, .dtype = GW_DTYPE_F64, .dims = 1, .shape = {7}},
    };
    const struct gw_ddp_options options =
        GW_INIT(gw_ddp_options, .comm = self->comm, .params = params, .params_count = 2,
                .first_bucket_bytes = 1, .bucket_bytes = 1);
    struct gw_ddp *ddp;
    struct gw_error error;
    for (int k = 0; k < FEATURES; k++)
        weights[k] = self->rank; /* rank 0's are taken */
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), 0);
    for (size_t step = 0; step < STEPS; step++) {
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, &error), 0);
        gradient_of(weights, step * all + BATCH * (size_t)self->rank, BATCH, gradient);
        for (size_t i = 2; i-- > 0;) {
            hooks->copy(gw_ddp_gradient(ddp, i), gradient + 30 * i,
                        params[i].shape[0] * sizeof *gradient);
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, &error), 0);
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, &error), 0);
        for (size_t i = 0; i < 2; i++)
            hooks->copy(gradient + 30 * i, gw_ddp_gradient(ddp, i),
                        params[i].shape[0] * sizeof *gradient);
        step_down(weights, gradient);
        gradient_of(alone, step * all, all, gradient);
        step_down(alone, gradient);
    }
    for (int k = 0; k < FEATURES; k++)
        RANK_CHECK(fabs(weights[k] - alone[k]) < 1e-12 && fabs(alone[k]) > 1e-9);
    gw_ddp_close(ddp);
    return 0;
}

static void training_on_several_ranks_matches_a_single_rank(void **state)
{
    for (int ranks = 1; ranks <= hooks->ranks_max && ranks <= 4; ranks++) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_trains};
        assert_int_equal(world_run(&world), 0);
    }
}

/* On a stream, compressed: within the bound, and what is not finite is named. */
static int rank_is_on_a_stream(struct world_rank *self)
{
    enum { COUNT = 70000 };
    static float mine[COUNT], found[COUNT];
    struct gw_ddp_param param = {.name = "w", .dtype = GW_DTYPE_F32, .dims = 1, .shape = {COUNT}};
    struct gw_ddp *ddp;
    struct gw_error error;
    char wanted[80];
    void *stream;
    const double ranks = self->ranks, mean = (ranks + 1) / 2;
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, NULL), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof mine, &param.data, NULL), 0);
    struct gw_ddp_options options =
        GW_INIT(gw_ddp_options, .comm = self->comm, .params = &param, .params_count = 1,
                .find_not_finite = true, .compress_bf16 = true);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, "need a stream"));
    options.stream = stream;
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), 0);
    for (int step = 0; step < 3; step++) {
        for (size_t k = 0; k < COUNT; k++)
            mine[k] = (float)((self->rank + 1) * sin((double)k));
        if (step == 1 && self->rank == self->ranks - 1)
            mine[COUNT - 1] = NAN;
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
        RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
        hooks->copy(gw_ddp_gradient(ddp, 0), mine, sizeof mine);
        RANK_CHECK_RC(gw_ddp_ready(ddp, 0, NULL), 0);
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
        RANK_CHECK_RC(gw_ddp_check_finite(ddp, step, &error), step == 1 ? GW_ENOTFINITE : 0);
        (void)snprintf(wanted, sizeof wanted,
                       "step 1: rank %d: the gradient of parameter 0 (\"w\")", self->ranks - 1);
        RANK_CHECK(step != 1 || strncmp(error.text, wanted, strlen(wanted)) == 0);
        hooks->copy(found, gw_ddp_gradient(ddp, 0), sizeof found);
        for (size_t k = 0; k < COUNT - 1; k++)
            RANK_CHECK(fabs((double)found[k] - mean * sin((double)k)) <=
                       mean * fabs(sin((double)k)) * (ranks + 1) / 256);
    }
    gw_ddp_close(ddp);
    return 0;
}

static void compressed_gradients_on_a_stream_are_within_their_bound(void **state)
{
    for (int ranks = 1; ranks <= hooks->ranks_max && ranks <= 3; ranks++) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_is_on_a_stream};
        assert_int_equal(world_run(&world), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_on_several_ranks_matches_a_single_rank),
        cmocka_unit_test(compressed_gradients_on_a_stream_are_within_their_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
