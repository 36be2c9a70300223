/* Batch normalisation of ranks with different numbers of samples, compared with formulas over the
 * whole batch; for the backend of COMM_HOOKS, whose arrays may lie in a device's memory. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/sync_batch_norm.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef COMM_HOOKS
#define COMM_HOOKS comm_host_hooks
#endif

extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { SAMPLES = 12, CHANNELS = 3, AREA_MAX = 300, RANKS_MAX = 4, ALL = SAMPLES * CHANNELS };

static const size_t shares[RANKS_MAX][RANKS_MAX] = {{12}, {7, 5}, {6, 5, 1}, {5, 4, 3, 0}};

static double x_of(size_t sample, size_t channel, size_t i)
{
    return 3 * (double)channel + sin((double)(sample * 31 + channel * 7 + i));
}

static double g_of(size_t sample, size_t channel, size_t i)
{
    return cos((double)(sample * 11 + channel * 5 + i * 3));
}

static double scale_of(size_t channel)
{
    return 0.5 + (double)channel;
}

static double shift_of(size_t channel)
{
    return 1 - (double)channel;
}

/* The statistics of the whole batch for a channel. */
struct expected {
    double mean, per_deviation, unbiased, g_mean, product_mean;
};

static struct expected expect(size_t channel, size_t area)
{
    const double n = (double)(SAMPLES * area);
    struct expected e = {0, 0, 0, 0, 0};
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < area; i++)
            e.mean += x_of(s, channel, i) / n;
    double variance = 0;
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < area; i++)
            variance += pow(x_of(s, channel, i) - e.mean, 2) / n;
    e.per_deviation = 1 / sqrt(variance + 1e-5);
    e.unbiased = variance * n / (n - 1);
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < area; i++) {
            const double normal = (x_of(s, channel, i) - e.mean) * e.per_deviation;
            e.g_mean += g_of(s, channel, i) / n;
            e.product_mean += g_of(s, channel, i) * normal / n;
        }
    return e;
}

/* An array that the backend can reach, from doubles and back to them. */
struct array {
    void *memory;
    size_t count;
    enum gw_dtype dtype;
};

static void array_write(const struct array *array, const double *values)
{
    float *narrow = malloc(array->count * sizeof *narrow + 1);
    for (size_t i = 0; i < array->count; i++)
        narrow[i] = (float)values[i];
    hooks->copy(array->memory,
                array->dtype == GW_DTYPE_F64 ? (const void *)values : (const void *)narrow,
                array->count * gw_dtype_size(array->dtype));
    free(narrow);
}

static void array_read(const struct array *array, double *values)
{
    float *narrow = malloc(array->count * sizeof *narrow + 1);
    hooks->copy(array->dtype == GW_DTYPE_F64 ? (void *)values : (void *)narrow, array->memory,
                array->count * gw_dtype_size(array->dtype));
    for (size_t i = 0; i < array->count && array->dtype == GW_DTYPE_F32; i++)
        values[i] = (double)narrow[i];
    free(narrow);
}

enum { X, Y, SCALE, SHIFT, MEAN, VARIANCE, Y_GRADIENT, X_GRADIENT, SCALE_GRADIENT, SHIFT_GRADIENT };

struct subject {
    struct gw_sync_batch_norm *norm;
    struct gw_sync_batch_norm_pass pass;
    struct array arrays[SHIFT_GRADIENT + 1];
    size_t first; /* sample of this rank */
    void *stream;
};

static double *values_of(const struct subject *subject, int array)
{
    static double values[ALL * AREA_MAX + 1];
    const size_t area = subject->pass.area;
    for (size_t k = 0; k < subject->arrays[array].count; k++) {
        const size_t i = k % area, c = k / area % CHANNELS,
                     s = subject->first + k / area / CHANNELS;
        values[k] = array == X            ? x_of(s, c, i)
                    : array == Y_GRADIENT ? g_of(s, c, i)
                    : array == SCALE      ? scale_of(k)
                    : array == SHIFT      ? shift_of(k)
                                          : 2; /* an old value, which must be replaced */
    }
    return values;
}

static int subject_init(struct world_rank *self, struct subject *subject, enum gw_dtype dtype,
                        size_t area)
{
    const size_t *share = shares[self->ranks - 1];
    *subject = (struct subject){.pass = {.samples = share[self->rank], .area = area}};
    for (int rank = 0; rank < self->rank; rank++)
        subject->first += share[rank];
    if (hooks->on_device)
        RANK_CHECK_RC(gw_comm_stream(self->comm, &subject->stream, NULL), 0);
    RANK_CHECK_RC(gw_sync_batch_norm_new(
                      GW_SYNC_BATCH_NORM_OPTIONS(.comm = self->comm, .channels = CHANNELS,
                                                 .dtype = dtype, .stream = subject->stream),
                      &subject->norm, NULL),
                  0);
    for (int a = 0; a <= SHIFT_GRADIENT; a++) {
        struct array *array = &subject->arrays[a];
        const bool large = a == X || a == Y || a == Y_GRADIENT || a == X_GRADIENT;
        *array = (struct array){.count = large ? share[self->rank] * CHANNELS * area : CHANNELS,
                                .dtype = dtype};
        RANK_CHECK_RC(gw_comm_alloc(self->comm, ALL * AREA_MAX * 8, &array->memory, NULL), 0);
        array_write(array, values_of(subject, a));
    }
    struct gw_sync_batch_norm_pass *pass = &subject->pass;
    pass->x = subject->arrays[X].memory;
    pass->y = subject->arrays[Y].memory;
    pass->scale = subject->arrays[SCALE].memory;
    pass->shift = subject->arrays[SHIFT].memory;
    pass->running_mean = subject->arrays[MEAN].memory;
    pass->running_variance = subject->arrays[VARIANCE].memory;
    pass->y_gradient = subject->arrays[Y_GRADIENT].memory;
    pass->x_gradient = subject->arrays[X_GRADIENT].memory;
    pass->scale_gradient = subject->arrays[SCALE_GRADIENT].memory;
    pass->shift_gradient = subject->arrays[SHIFT_GRADIENT].memory;
    return 0;
}

static void subject_deinit(struct world_rank *self, struct subject *subject)
{
    for (int a = 0; a <= SHIFT_GRADIENT; a++)
        gw_comm_dealloc(self->comm, subject->arrays[a].memory);
    gw_sync_batch_norm_free(subject->norm);
}

/* Compares y, its running statistics and the gradient of x with those of the whole batch. */
static int results_check(struct world_rank *self, const struct subject *subject, double tolerance)
{
    static double y[ALL * AREA_MAX], dx[ALL * AREA_MAX];
    double mean[CHANNELS], variance[CHANNELS];
    const size_t area = subject->pass.area;
    array_read(&subject->arrays[Y], y);
    array_read(&subject->arrays[X_GRADIENT], dx);
    array_read(&subject->arrays[MEAN], mean);
    array_read(&subject->arrays[VARIANCE], variance);
    for (size_t c = 0; c < CHANNELS; c++) {
        const struct expected e = expect(c, area);
        RANK_CHECK(fabs(mean[c] - (2 * 0.9 + 0.1 * e.mean)) < tolerance);
        RANK_CHECK(fabs(variance[c] - (2 * 0.9 + 0.1 * e.unbiased)) < tolerance);
        for (size_t s = 0; s < subject->pass.samples; s++)
            for (size_t i = 0; i < area; i++) {
                const size_t at = (s * CHANNELS + c) * area + i, all = subject->first + s;
                const double normal = (x_of(all, c, i) - e.mean) * e.per_deviation;
                const double slope = g_of(all, c, i) - e.g_mean - normal * e.product_mean;
                RANK_CHECK(fabs(y[at] - (scale_of(c) * normal + shift_of(c))) < tolerance);
                RANK_CHECK(fabs(dx[at] - (2 + scale_of(c) * e.per_deviation * slope)) < tolerance);
            }
    }
    return 0;
}

/* The gradients of scale and shift are those of this rank's samples. */
static int gradients_check(struct world_rank *self, const struct subject *subject, double tolerance)
{
    double scale[CHANNELS], shift[CHANNELS];
    const size_t area = subject->pass.area;
    array_read(&subject->arrays[SCALE_GRADIENT], scale);
    array_read(&subject->arrays[SHIFT_GRADIENT], shift);
    for (size_t c = 0; c < CHANNELS; c++) {
        const struct expected e = expect(c, area);
        double sums[2] = {2, 2};
        for (size_t s = 0; s < subject->pass.samples; s++)
            for (size_t i = 0; i < area; i++) {
                const size_t all = subject->first + s;
                sums[0] += g_of(all, c, i) * (x_of(all, c, i) - e.mean) * e.per_deviation;
                sums[1] += g_of(all, c, i);
            }
        RANK_CHECK(fabs(scale[c] - sums[0]) < tolerance * (double)area);
        RANK_CHECK(fabs(shift[c] - sums[1]) < tolerance * (double)area);
    }
    return 0;
}

static int rank_normalises(struct world_rank *self)
{
    static const size_t areas[] = {1, 16, AREA_MAX};
    for (int k = 0; k < 6; k++) {
        const enum gw_dtype dtype = k < 3 ? GW_DTYPE_F64 : GW_DTYPE_F32;
        const double tolerance = dtype == GW_DTYPE_F64 ? 1e-12 : 2e-5;
        struct subject subject;
        double y;
        RANK_CHECK_RC(subject_init(self, &subject, dtype, areas[k % 3]), 0);
        RANK_CHECK_RC(gw_sync_batch_norm_train(subject.norm, &subject.pass, NULL), 0);
        RANK_CHECK_RC(gw_sync_batch_norm_backward(subject.norm, &subject.pass, NULL), 0);
        RANK_CHECK_RC(gw_comm_wait(self->comm, subject.stream, NULL), 0);
        RANK_CHECK_RC(results_check(self, &subject, tolerance), 0);
        RANK_CHECK_RC(gradients_check(self, &subject, tolerance), 0);
        RANK_CHECK_RC(gw_sync_batch_norm_evaluate(subject.norm, &subject.pass, NULL), 0);
        RANK_CHECK_RC(gw_comm_wait(self->comm, subject.stream, NULL), 0);
        const struct expected e = expect(0, areas[k % 3]);
        const double normal = (x_of(subject.first, 0, 0) - (1.8 + 0.1 * e.mean)) /
                              sqrt(1.8 + 0.1 * e.unbiased + 1e-5);
        const struct array first = {subject.arrays[Y].memory, subject.pass.samples ? 1 : 0, dtype};
        array_read(&first, &y);
        RANK_CHECK(!first.count || fabs(y - (scale_of(0) * normal + shift_of(0))) < tolerance);
        subject_deinit(self, &subject);
    }
    return 0;
}

static void ranks_normalise_over_the_batch_of_all(void **state)
{
    for (int ranks = 1; ranks <= hooks->ranks_max && ranks <= RANKS_MAX; ranks++) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_normalises};
        assert_int_equal(world_run(&world), 0);
    }
}

static void batch_norm_refuses_invalid_options(void **state)
{
    struct gw_sync_batch_norm *norm;
    struct gw_error error;
#define REFUSED(...)                                                                               \
    assert_int_equal(                                                                              \
        gw_sync_batch_norm_new(GW_SYNC_BATCH_NORM_OPTIONS(__VA_ARGS__), &norm, &error), GW_EINVAL)
    REFUSED(.channels = 0);
    REFUSED(.channels = (size_t)INT32_MAX + 1);
    REFUSED(.channels = 1, .eps = -1);
    REFUSED(.channels = 1, .momentum = 1.1);
    REFUSED(.channels = 1, .dtype = GW_DTYPE_BF16);
    assert_non_null(strstr(error.text, "only f32 and f64"));
    assert_int_equal(gw_sync_batch_norm_new(
                         GW_SYNC_BATCH_NORM_OPTIONS(.channels = 1, .momentum = 1), &norm, NULL),
                     0);
    gw_sync_batch_norm_free(norm);
    gw_sync_batch_norm_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_normalise_over_the_batch_of_all),
        cmocka_unit_test(batch_norm_refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
