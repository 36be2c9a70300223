/* Trains the LSTM of the pet names and the residual net of the digits in double for 50 steps of SGD
 * with momentum, for parity.py, which repeats the steps with PyTorch.
 *
 *     double_steps lstm|residual >FILE
 *
 * The file is a sequence of arrays in the machine's byte order: a count (uint64), then as many
 * doubles. They are: inputs (symbols, or images), labels, parameters before, parameters after,
 * running statistics after (none of the LSTM), and the loss of each step. */
#include "examples/06_digits/images.h"
#include "examples/06_digits/model.h"
#include "examples/petnames/model.h"

#include <gangway/optimizer.h>
#include <gangway/rng.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 50, HIDDEN = 24, NAMES = 40, IMAGES = 12, TENSORS_MAX = 64 };

static struct gw_error error;

static void must(int rc)
{
    if (rc < 0) {
        (void)fprintf(stderr, "double_steps: %s\n", error.text);
        exit(1);
    }
}

static double *doubles(size_t count)
{
    double *made = calloc(count + 1, sizeof *made);
    if (!made)
        abort();
    return made;
}

static void write_array(const double *values, size_t count)
{
    const uint64_t head = count;
    if (fwrite(&head, sizeof head, 1, stdout) != 1 ||
        fwrite(values, sizeof *values, count, stdout) != count)
        abort();
}

static struct gw_optimizer *sgd_new(double *parameters, double *gradients, size_t count)
{
    struct gw_optimizer_options options = gw_optimizer_sgd(0.05);
    const struct gw_optimizer_tensor tensor = {
        .data = parameters, .gradient = gradients, .count = count, .dtype = GW_DTYPE_F64};
    struct gw_optimizer *made;
    options.momentum = 0.9;
    must(gw_optimizer_new(&options, &tensor, 1, &made, &error));
    return made;
}

static void train_lstm(void)
{
    uint64_t samples[NAMES];
    double symbols[NAMES * PET_CONTEXT], labels[NAMES], losses[STEPS], *gradients[PET_TENSORS];
    struct pet_model model;
    struct pet_batch *batch;
    struct pet_workspace *workspace;
    struct gw_rng rng;
    gw_rng_init(&rng, 3);
    for (size_t i = 0; i < NAMES; i++) {
        uint64_t window = pet_window_blank();
        for (uint64_t k = gw_rng_below(&rng, PET_CONTEXT + 1); k > 0; k--)
            window = pet_window_push(window, (int)gw_rng_below(&rng, PET_INPUTS));
        samples[i] = pet_sample(window, (int)gw_rng_below(&rng, PET_LABELS));
        for (int k = 0; k < PET_CONTEXT; k++)
            symbols[i * PET_CONTEXT + (size_t)k] = pet_window_symbol(window, k);
        labels[i] = pet_sample_label(samples[i]);
    }
    pet_model_init_hidden(&model, "parity", HIDDEN);
    const size_t count = model.parameter_count;
    double *parameters = doubles(count), *flat = doubles(count);
    for (int t = 0; t < PET_TENSORS; t++)
        gradients[t] = flat + model.tensors[t].offset;
    pet_model_randomise(&model, 1, parameters);
    must(pet_batch_new(NAMES, &batch, &error));
    must(pet_workspace_new(&model, NAMES, &workspace, &error));
    struct gw_optimizer *sgd = sgd_new(parameters, flat, count);
    pet_batch_build(batch, samples, NAMES);
    write_array(symbols, sizeof symbols / sizeof *symbols);
    write_array(labels, NAMES);
    write_array(parameters, count);
    for (int i = 0; i < STEPS; i++) {
        losses[i] = pet_model_forward(&model, parameters, batch, workspace);
        pet_model_backward(&model, parameters, batch, workspace, gradients, NULL, NULL);
        must(gw_optimizer_step(sgd, &error));
    }
    write_array(parameters, count);
    write_array(NULL, 0);
    write_array(losses, STEPS);
    gw_optimizer_free(sgd);
    pet_workspace_free(workspace);
    pet_batch_free(batch);
    free(parameters);
    free(flat);
}

static void train_residual(void)
{
    double images[IMAGES * DIGITS_PIXELS], labels[IMAGES], losses[STEPS], *gradients[TENSORS_MAX];
    uint8_t digits[IMAGES];
    struct nn_net *net = digits_model_new("residual");
    struct gw_rng rng;
    gw_rng_init(&rng, 4);
    if (!net)
        abort();
    must(nn_net_prepare(net, IMAGES, &error));
    const size_t count = nn_net_parameters(net);
    double *parameters = doubles(count), *flat = doubles(count);
    for (size_t t = 0; t < nn_net_tensors(net); t++)
        gradients[t] = flat + nn_net_tensor(net, t)->offset;
    nn_net_randomise(net, 1, parameters);
    for (size_t i = 0; i < IMAGES * DIGITS_PIXELS; i++)
        images[i] = gw_rng_uniform(&rng);
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = digits[i] = (uint8_t)gw_rng_below(&rng, DIGITS_CLASSES);
    struct gw_optimizer *sgd = sgd_new(parameters, flat, count);
    write_array(images, IMAGES * DIGITS_PIXELS);
    write_array(labels, IMAGES);
    write_array(parameters, count);
    for (int i = 0; i < STEPS; i++) {
        const double *output;
        size_t right;
        memset(flat, 0, count * sizeof *flat);
        must(nn_net_forward(net, parameters, images, IMAGES, true, &output, &error));
        must(nn_net_entropy(net, digits, &error));
        must(nn_net_entropy_end(net, &losses[i], &right, &error));
        must(nn_net_backward(net, parameters, NULL, gradients, NULL, NULL, &error));
        must(gw_optimizer_step(sgd, &error));
    }
    size_t statistics_count;
    const double *statistics = nn_net_statistics(net, &statistics_count);
    write_array(parameters, count);
    write_array(statistics, statistics_count);
    write_array(losses, STEPS);
    gw_optimizer_free(sgd);
    nn_net_free(net);
    free(parameters);
    free(flat);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "lstm") == 0)
        train_lstm();
    else if (argc == 2 && strcmp(argv[1], "residual") == 0)
        train_residual();
    else {
        (void)fprintf(stderr, "usage: double_steps lstm|residual >FILE\n");
        return 2;
    }
    return 0;
}
