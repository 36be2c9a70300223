/* The networks of the examples on a GPU, in double against the fakes: losses, gradients and running
 * statistics are those of the CPU. */
#include "tests/unit/unit.h"

#include "examples/06_digits/images.h"
#include "examples/06_digits/model.h"
#include "examples/nn/device.h"
#include "examples/nn/half.h"
#include "examples/nn/net.h"
#include "examples/petnames/device_model.h"

#include <gangway/dtype.h>
#include <gangway/rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 64, IMAGES = 4, HIDDEN = 7, SAMPLES = 60 };

static struct nn_device *device;

/* The largest difference, relative to the largest number. */
static double difference(const double *a, const double *b, size_t count)
{
    double largest = 0, apart = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(a[i]));
        apart = fmax(apart, fabs(a[i] - b[i]));
    }
    return largest > 0 ? apart / largest : apart;
}

static void check_close(const char *what, const double *a, const double *b, size_t count,
                        double tolerance)
{
    const double apart = difference(a, b, count);
    if (!(apart <= tolerance))
        fail_msg("%s: the GPU differs by %.1e", what, apart);
}

static double *fetch(const double *memory, size_t count)
{
    double *copy = calloc(count, sizeof *copy);
    nn_device_copy(device, copy, memory, count * sizeof *copy);
    assert_int_equal(nn_device_wait(device, NULL), 0);
    return copy;
}

static double *put(const double *from, size_t count)
{
    double *memory = nn_device_alloc(device, count * sizeof *memory);
    nn_device_copy(device, memory, from, count * sizeof *memory);
    assert_int_equal(nn_device_wait(device, NULL), 0);
    return memory;
}

/* -- Digits ------------------------------------------------------------------------------------ */

/* A network, once on the CPU and once on the device. */
struct twin {
    struct nn_net *net;
    double *parameters, *gradients[TENSORS_MAX];
    double loss;
    size_t right;
    int calls;
};

static void twin_on_gradient(void *user, size_t tensor)
{
    ((struct twin *)user)->calls++;
}

static void twin_begin(struct twin *twin, const char *net, const double *parameters,
                       struct nn_device *on)
{
    struct gw_error error;
    *twin = (struct twin){.net = digits_model_new(net)};
    nn_net_use_device(twin->net, on);
    assert_int_equal(nn_net_prepare(twin->net, IMAGES + 2, &error), 0);
    const size_t count = nn_net_parameters(twin->net);
    twin->parameters =
        on ? put(parameters, count) : memcpy(malloc(count * 8), parameters, count * 8);
    for (size_t t = 0; t < nn_net_tensors(twin->net); t++) {
        double *zeros = calloc(nn_net_tensor(twin->net, t)->count, sizeof *zeros);
        twin->gradients[t] = on ? put(zeros, nn_net_tensor(twin->net, t)->count) : zeros;
        if (on)
            free(zeros);
    }
}

static void twin_step(struct twin *twin, const double *pixels, const uint8_t *labels, bool training)
{
    const double *output;
    struct gw_error error;
    assert_int_equal(
        nn_net_forward(twin->net, twin->parameters, pixels, IMAGES, training, &output, &error), 0);
    assert_int_equal(nn_net_entropy(twin->net, labels, &error), 0);
    if (training)
        assert_int_equal(nn_net_backward(twin->net, twin->parameters, NULL, twin->gradients,
                                         twin_on_gradient, twin, &error),
                         0);
    assert_int_equal(nn_net_entropy_end(twin->net, &twin->loss, &twin->right, &error), 0);
}

static void twin_end(struct twin *twin, struct nn_device *on)
{
    for (size_t t = 0; t < nn_net_tensors(twin->net); t++)
        on ? nn_device_release(on, twin->gradients[t]) : free(twin->gradients[t]);
    on ? nn_device_release(on, twin->parameters) : free(twin->parameters);
    nn_net_free(twin->net);
}

static void check_twins(struct twin *cpu, struct twin *gpu)
{
    size_t count;
    assert_true(fabs(cpu->loss - gpu->loss) < 1e-12 * cpu->loss);
    assert_int_equal(cpu->right, gpu->right);
    for (size_t t = 0; t < nn_net_tensors(cpu->net); t++) {
        const struct nn_tensor *tensor = nn_net_tensor(cpu->net, t);
        double *gradient = fetch(gpu->gradients[t], tensor->count);
        /* The bias before a normalisation has no effect: its gradient is rounding. */
        if (difference(cpu->gradients[t], gradient, tensor->count) > 1e-10)
            for (size_t i = 0; i < tensor->count; i++)
                if (fabs(cpu->gradients[t][i] - gradient[i]) > 1e-13)
                    fail_msg("%s %zu: %g, on the GPU %g", tensor->name, i, cpu->gradients[t][i],
                             gradient[i]);
        free(gradient);
    }
    const double *statistics = nn_net_statistics(cpu->net, &count);
    check_close("statistics", statistics, nn_net_statistics(gpu->net, &count), count, 1e-12);
}

static void check_net(const char *name)
{
    static double pixels[IMAGES * DIGITS_PIXELS];
    const uint8_t labels[IMAGES] = {3, 0, 9, 3};
    struct nn_net *net = digits_model_new(name);
    struct twin cpu, gpu;
    struct gw_rng rng;
    double *parameters = calloc(nn_net_parameters(net), sizeof *parameters);
    nn_net_randomise(net, 3, parameters);
    gw_rng_init(&rng, 8);
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
        pixels[i] = 2 * gw_rng_uniform(&rng) - 1;
    twin_begin(&cpu, name, parameters, NULL);
    twin_begin(&gpu, name, parameters, device);
    for (int pass = 0; pass < 2; pass++) { /* gradients add up */
        twin_step(&cpu, pixels, labels, true);
        twin_step(&gpu, pixels, labels, true);
        check_twins(&cpu, &gpu);
    }
    assert_int_equal(gpu.calls, 2 * nn_net_tensors(net));
    twin_step(&cpu, pixels, labels, false);
    twin_step(&gpu, pixels, labels, false);
    assert_true(fabs(cpu.loss - gpu.loss) < 1e-12 * cpu.loss);
    twin_end(&gpu, device);
    twin_end(&cpu, NULL);
    free(parameters);
    nn_net_free(net);
}

static void convnet_computes_the_same_on_a_gpu(void **state)
{
    check_net("convnet");
}

static void residual_net_computes_the_same_on_a_gpu(void **state)
{
    check_net("residual");
}

/* -- Pet names --------------------------------------------------------------------------------- */

/* Names over three letters, so that contexts repeat. */
static size_t make_samples(uint64_t *samples, size_t count)
{
    struct gw_rng rng;
    size_t made = 0;
    gw_rng_init(&rng, 4);
    while (made < count) {
        uint64_t window = pet_window_blank();
        const int length = 1 + (int)gw_rng_below(&rng, PET_CONTEXT + 1);
        for (int i = 0; i <= length && made < count; i++) {
            const int symbol =
                i < length ? pet_symbol((char)('a' + gw_rng_below(&rng, 3))) : PET_END;
            samples[made++] = pet_sample(window, symbol);
            if (i < length)
                window = pet_window_push(window, symbol);
        }
    }
    return made;
}

static void lstm_computes_the_same_on_a_gpu(void **state)
{
    uint64_t samples[SAMPLES];
    struct pet_model model;
    struct pet_batch *batch;
    struct pet_workspace *workspace;
    struct pet_device_model *on_device;
    struct gw_error error;
    double *gradients[PET_TENSORS], *far_gradients[PET_TENSORS], loss;
    pet_model_init_hidden(&model, "test", HIDDEN);
    double *parameters = calloc(model.parameter_count, sizeof *parameters);
    pet_model_randomise(&model, 2, parameters);
    double *far_parameters = put(parameters, model.parameter_count);
    for (int t = 0; t < PET_TENSORS; t++) {
        gradients[t] = calloc(model.tensors[t].count, sizeof(double));
        far_gradients[t] = nn_device_alloc(device, model.tensors[t].count * sizeof(double));
    }
    assert_int_equal(pet_batch_new(SAMPLES, &batch, &error), 0);
    assert_int_equal(pet_workspace_new(&model, SAMPLES, &workspace, &error), 0);
    assert_int_equal(pet_device_model_new(&model, SAMPLES, device, &on_device, &error), 0);
    const size_t sizes[] = {SAMPLES, 1, 17};
    for (size_t i = 0; i < 3; i++) {
        pet_batch_build(batch, samples, make_samples(samples, sizes[i]));
        batch->share *= 0.75;
        const double expected = pet_model_forward(&model, parameters, batch, workspace);
        pet_device_model_forward(on_device, far_parameters, batch);
        pet_model_backward(&model, parameters, batch, workspace, gradients, NULL, NULL);
        pet_device_model_backward(on_device, far_parameters, batch, far_gradients, NULL, NULL);
        assert_int_equal(pet_device_model_loss(on_device, &loss, &error), 0);
        check_close("loss", &expected, &loss, 1, 1e-13);
        for (int t = 0; t < PET_TENSORS; t++) {
            double *gradient = fetch(far_gradients[t], model.tensors[t].count);
            check_close(model.tensors[t].name, gradients[t], gradient, model.tensors[t].count,
                        1e-12);
            free(gradient);
        }
    }
    pet_device_model_free(on_device);
    pet_workspace_free(workspace);
    pet_batch_free(batch);
    for (int t = 0; t < PET_TENSORS; t++) {
        free(gradients[t]);
        nn_device_release(device, far_gradients[t]);
    }
    nn_device_release(device, far_parameters);
    free(parameters);
}

/* -- 16 bits ----------------------------------------------------------------------------------- */

static void check_half(float value)
{
    if (nn_half_to_bf16(value) != gw_bf16_from_f32(value) ||
        nn_half_to_f16(value) != gw_f16_from_f32(value))
        fail_msg("%a becomes %04x and %04x", (double)value, nn_half_to_bf16(value),
                 nn_half_to_f16(value));
}

/* Also of the number in the middle between two of 16 bits, and of its neighbours. */
static void numbers_of_16_bits_are_rounded_as_by_gangway(void **state)
{
    for (uint32_t half = 0; half < 65536; half++) {
        const float bf16 = nn_half_from_bf16((uint16_t)half);
        const float f16 = nn_half_from_f16((uint16_t)half);
        const float expected[] = {gw_bf16_to_f32((uint16_t)half), gw_f16_to_f32((uint16_t)half)};
        const float own[] = {bf16, f16};
        assert_memory_equal(own, expected, sizeof own);
        for (uint32_t below = 0xfff; below <= 0x1001; below++)
            check_half(nn_half_float(nn_half_bits(f16) + below));
        for (uint32_t below = 0x7fff; below <= 0x8001; below++)
            check_half(nn_half_float(nn_half_bits(bf16) + below));
    }
}

/* -- Failures ---------------------------------------------------------------------------------- */

static void first_failure_of_a_device_stays(void **state)
{
    struct gw_error error;
    const struct nn_product wrong = {.m = 2, .n = 2, .k = 2, .row_a = 1, .row_b = 2, .row_c = 2};
    struct nn_device *own;
    assert_int_equal(nn_cuda_open(&own, &error), 0);
    nn_device_product(own, &wrong); /* rows that are shorter than the matrix */
    assert_int_equal(nn_device_wait(own, &error), GW_EDEVICE);
    assert_non_null(strstr(error.text, "cuBLAS: product: error 7"));
    assert_null(nn_device_alloc(own, 8));
    assert_int_equal(nn_device_wait(own, &error), GW_EDEVICE);
    nn_device_close(own);
}

static void missing_device_memory_is_reported(void **state)
{
    struct pet_model model;
    struct pet_device_model *on_device;
    struct gw_error error;
    struct nn_device *own;
    pet_model_init_hidden(&model, "test", HIDDEN);
    assert_int_equal(setenv("FAKE_CUDA_MEMORY", "100000", 1), 0);
    assert_int_equal(nn_cuda_open(&own, &error), 0);
    assert_int_equal(pet_device_model_new(&model, SAMPLES, own, &on_device, &error), GW_ENOMEM);
    assert_non_null(strstr(error.text, "out of memory"));
    nn_device_close(own);
    assert_int_equal(unsetenv("FAKE_CUDA_MEMORY"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convnet_computes_the_same_on_a_gpu),
        cmocka_unit_test(residual_net_computes_the_same_on_a_gpu),
        cmocka_unit_test(lstm_computes_the_same_on_a_gpu),
        cmocka_unit_test(numbers_of_16_bits_are_rounded_as_by_gangway),
        cmocka_unit_test(first_failure_of_a_device_stays),
        cmocka_unit_test(missing_device_memory_is_reported),
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
