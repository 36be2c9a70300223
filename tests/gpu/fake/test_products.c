/* Products of 16 bits, against the fakes: they are those of the rounded factors, and gradients of
 * the examples' networks differ from those of the CPU by a small multiple of the type's rounding.
 */
#include "tests/unit/unit.h"

#include "examples/06_digits/images.h"
#include "examples/nn/device.h"
#include "examples/nn/half.h"
#include "examples/nn/net.h"
#include "examples/petnames/device_model.h"

#include <cublas_v2.h>
#include <gangway/rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4096, IMAGES = 4, TENSORS_MAX = 64, HIDDEN = 12, SAMPLES = 60 };

static struct nn_device *device;

static const struct {
    enum nn_precision precision;
    double rounding; /* the largest relative error of a rounded number */
} types[] = {{NN_BF16, 0x1p-8}, {NN_F16, 0x1p-11}};

static float rounded(enum nn_precision precision, float x)
{
    return precision == NN_BF16 ? nn_half_from_bf16(nn_half_to_bf16(x))
                                : nn_half_from_f16(nn_half_to_f16(x));
}

static void fill(struct gw_rng *rng, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)(2 * gw_rng_uniform(rng) - 1);
}

static float *put(const float *from, size_t count)
{
    float *memory = nn_device_alloc(device, count * sizeof *memory);
    nn_device_copy(device, memory, from, count * sizeof *memory);
    assert_int_equal(nn_device_wait(device, NULL), 0);
    return memory;
}

static float *fetch(const float *memory, size_t count)
{
    float *copy = calloc(count, sizeof *copy);
    nn_device_copy(device, copy, memory, count * sizeof *copy);
    assert_int_equal(nn_device_wait(device, NULL), 0);
    return copy;
}

/* -- Products ---------------------------------------------------------------------------------- */

static float a[NUMBERS], b[NUMBERS], c[NUMBERS];

static double expected(const struct nn_product *p, enum nn_precision precision, int i, int row,
                       int column)
{
    double sum =
        (double)p->beta * (double)c[(size_t)i * p->step_c + (size_t)(row * p->row_c + column)];
    for (int k = 0; k < p->k; k++) {
        const int at_a = p->a_turned ? k * p->row_a + row : row * p->row_a + k;
        const int at_b = p->b_turned ? column * p->row_b + k : k * p->row_b + column;
        sum += (double)rounded(precision, a[(size_t)i * p->step_a + (size_t)at_a]) *
               (double)rounded(precision, b[(size_t)i * p->step_b + (size_t)at_b]);
    }
    return sum;
}

static void check_product(struct nn_product p, enum nn_precision precision)
{
    float *far_a = put(a, NUMBERS), *far_b = put(b, NUMBERS), *far_c = put(c, NUMBERS);
    struct nn_product far = p;
    far.a = far_a;
    far.b = far_b;
    far.c = far_c;
    device->precision = precision;
    nn_device_product(device, &far);
    device->precision = NN_F32;
    float *got = fetch(far_c, NUMBERS);
    for (int i = 0; i < (p.count > 1 ? p.count : 1); i++)
        for (int row = 0; row < p.m; row++)
            for (int column = 0; column < p.n; column++) {
                const double want = expected(&p, precision, i, row, column);
                const float found = got[(size_t)i * p.step_c + (size_t)(row * p.row_c + column)];
                if (!(fabs((double)found - want) < 1e-5 * (1 + fabs(want))))
                    fail_msg("%d of %d, row %d, column %d: %g, not %g", i, p.count, row, column,
                             (double)found, want);
            }
    free(got);
    nn_device_release(device, far_a);
    nn_device_release(device, far_b);
    nn_device_release(device, far_c);
}

static void products_are_those_of_rounded_factors(void **state)
{
    struct gw_rng rng;
    gw_rng_init(&rng, 5);
    fill(&rng, a, NUMBERS);
    fill(&rng, b, NUMBERS);
    fill(&rng, c, NUMBERS);
    for (int kind = 0; kind < 32; kind++) {
        const bool turns_a = kind & 1, turns_b = kind & 2, apart = kind & 4;
        const int m = 5, n = 7, k = 9, wider = apart ? 3 : 0; /* rows with a gap behind them */
        const struct nn_product product = {.a_turned = turns_a,
                                           .b_turned = turns_b,
                                           .m = m,
                                           .n = n,
                                           .k = k,
                                           .row_a = (turns_a ? m : k) + wider,
                                           .row_b = (turns_b ? k : n) + wider,
                                           .row_c = n + wider,
                                           .beta = kind & 8 ? 1 : 0,
                                           .count = kind & 16 ? 3 : 0,
                                           .step_a = apart ? 200 : 0, /* 0: the same factor */
                                           .step_b = 150,
                                           .step_c = 101};
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            check_product(product, types[t].precision);
    }
}

static void cublas_refuses_types_and_layouts_that_it_does_not_have(void **state)
{
    const float one = 1, zero = 0;
    char *memory = nn_device_alloc(device, 4096);
    void *odd = memory + 1, *out = memory + 2048;
    cublasHandle_t handle;
    assert_int_equal(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
#define GEMM(a_type, b_type, c_type, compute, x, lda)                                              \
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, x, a_type, lda, memory, b_type,  \
                 4, &zero, out, c_type, 4, compute, CUBLAS_GEMM_DEFAULT)
    assert_int_equal(GEMM(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, memory, 4), 0);
    assert_int_equal(GEMM(CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, memory, 4),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(GEMM(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, memory, 4),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(GEMM(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_16F, memory, 4),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(GEMM(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, memory, 3),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(GEMM(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, odd, 4),
                     CUBLAS_STATUS_INVALID_VALUE);
    (void)cublasDestroy(handle);
    nn_device_release(device, memory);
}

/* -- Gradients --------------------------------------------------------------------------------- */

/* The norm of the difference, relative to that of the first. */
struct apart {
    double difference, norm;
};

static void apart_add(struct apart *apart, const float *wanted, const float *found, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double off = (double)wanted[i] - (double)found[i];
        apart->difference += off * off;
        apart->norm += (double)wanted[i] * (double)wanted[i];
    }
}

static void apart_check(struct apart apart, const char *what, double rounding)
{
    const double off = sqrt(apart.difference / apart.norm);
    print_message("%s: gradients differ by %.2f times the rounding\n", what, off / rounding);
    assert_true(off > 0.1 * rounding); /* something was rounded */
    assert_true(off < 4 * rounding);
}

/* A residual net without ReLU and pools: there a rounding can move a gradient by a jump. */
static struct nn_net *smooth_net(void)
{
    struct nn_net *net = nn_net_new((struct nn_shape){1, DIGITS_SIDE, DIGITS_SIDE});
    const int x = nn_batch_norm(net, nn_convolution(net, 0, 6, 5, 1));
    const int first = nn_batch_norm(net, nn_convolution(net, x, 8, 3, 2));
    const int second = nn_batch_norm(net, nn_convolution(net, first, 8, 3, 1));
    const int shortcut = nn_batch_norm(net, nn_convolution(net, x, 8, 1, 2));
    (void)nn_dense(net, nn_dense(net, nn_add(net, shortcut, second), 20), DIGITS_CLASSES);
    return net;
}

/* Computes its gradients on the CPU or on the device. */
static void net_gradients(struct nn_device *on, float **gradients)
{
    static float pixels[IMAGES * DIGITS_PIXELS];
    const uint8_t labels[IMAGES] = {3, 0, 9, 3};
    struct nn_net *net = smooth_net();
    struct gw_rng rng;
    struct gw_error error;
    float *tensors[TENSORS_MAX], *parameters = calloc(nn_net_parameters(net), sizeof *parameters);
    const float *output;
    double loss;
    size_t right;
    gw_rng_init(&rng, 8);
    fill(&rng, pixels, sizeof pixels / sizeof *pixels);
    nn_net_randomise(net, 3, parameters);
    nn_net_use_device(net, on);
    assert_int_equal(nn_net_prepare(net, IMAGES, &error), 0);
    float *used = on ? put(parameters, nn_net_parameters(net)) : parameters;
    for (size_t t = 0; t < nn_net_tensors(net); t++) {
        const size_t count = nn_net_tensor(net, t)->count;
        gradients[t] = calloc(count, sizeof(float));
        tensors[t] = on ? put(gradients[t], count) : gradients[t];
    }
    assert_int_equal(nn_net_forward(net, used, pixels, IMAGES, true, &output, &error), 0);
    nn_net_scale_loss(net, 1024);
    assert_int_equal(nn_net_entropy(net, labels, &error), 0);
    assert_int_equal(nn_net_backward(net, used, NULL, tensors, NULL, NULL, &error), 0);
    assert_int_equal(nn_net_entropy_end(net, &loss, &right, &error), 0);
    for (size_t t = 0; t < nn_net_tensors(net) && on; t++) {
        free(gradients[t]);
        gradients[t] = fetch(tensors[t], nn_net_tensor(net, t)->count);
        nn_device_release(on, tensors[t]);
    }
    if (on)
        nn_device_release(on, used);
    free(parameters);
    nn_net_free(net);
}

static void gradients_of_a_net_differ_by_rounding(void **state)
{
    struct nn_net *net = smooth_net();
    float *wanted[TENSORS_MAX], *found[TENSORS_MAX];
    net_gradients(NULL, wanted);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct apart apart = {0, 0};
        device->precision = types[t].precision;
        net_gradients(device, found);
        device->precision = NN_F32;
        for (size_t i = 0; i < nn_net_tensors(net); i++) {
            apart_add(&apart, wanted[i], found[i], nn_net_tensor(net, i)->count);
            free(found[i]);
        }
        apart_check(apart, "convolutions", types[t].rounding);
    }
    for (size_t i = 0; i < nn_net_tensors(net); i++)
        free(wanted[i]);
    nn_net_free(net);
}

static void gradients_of_the_lstm_differ_by_rounding(void **state)
{
    uint64_t samples[SAMPLES], window = pet_window_blank();
    struct pet_model model;
    struct pet_batch *batch;
    struct pet_workspace *workspace;
    struct pet_device_model *on_device;
    struct gw_error error;
    float *wanted[PET_TENSORS], *far[PET_TENSORS];
    double loss;
    pet_model_init_hidden(&model, "test", HIDDEN);
    float *parameters = calloc(model.parameter_count, sizeof *parameters);
    pet_model_randomise(&model, 2, parameters);
    float *used = put(parameters, model.parameter_count);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = pet_sample(window, pet_symbol((char)('a' + i * i % 5)));
        window = i % 9 == 8 ? pet_window_blank()
                            : pet_window_push(window, pet_symbol((char)('a' + i * i % 5)));
    }
    assert_int_equal(pet_batch_new(SAMPLES, &batch, &error), 0);
    assert_int_equal(pet_workspace_new(&model, SAMPLES, &workspace, &error), 0);
    assert_int_equal(pet_device_model_new(&model, SAMPLES, device, &on_device, &error), 0);
    pet_batch_build(batch, samples, SAMPLES);
    batch->share *= 1024;
    for (int t = 0; t < PET_TENSORS; t++) {
        wanted[t] = calloc(model.tensors[t].count, sizeof(float));
        far[t] = put(wanted[t], model.tensors[t].count);
    }
    (void)pet_model_forward(&model, parameters, batch, workspace);
    pet_model_backward(&model, parameters, batch, workspace, wanted, NULL, NULL);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct apart apart = {0, 0};
        device->precision = types[i].precision;
        pet_device_model_forward(on_device, used, batch);
        pet_device_model_backward(on_device, used, batch, far, NULL, NULL);
        assert_int_equal(pet_device_model_loss(on_device, &loss, &error), 0);
        device->precision = NN_F32;
        for (int t = 0; t < PET_TENSORS; t++) {
            float *found = fetch(far[t], model.tensors[t].count);
            apart_add(&apart, wanted[t], found, model.tensors[t].count);
            free(found);
        }
        apart_check(apart, "lstm", types[i].rounding);
    }
    for (int t = 0; t < PET_TENSORS; t++) {
        free(wanted[t]);
        nn_device_release(device, far[t]);
    }
    pet_device_model_free(on_device);
    pet_workspace_free(workspace);
    pet_batch_free(batch);
    nn_device_release(device, used);
    free(parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_rounded_factors),
        cmocka_unit_test(cublas_refuses_types_and_layouts_that_it_does_not_have),
        cmocka_unit_test(gradients_of_a_net_differ_by_rounding),
        cmocka_unit_test(gradients_of_the_lstm_differ_by_rounding),
    };
    struct gw_error error;
    if (nn_cuda_open(&device, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nn_device_close(device);
    return failed;
}
