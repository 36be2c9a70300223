/* Networks: adding layers, and the two passes. A layer's inputs always have lower numbers, so the
 * order of the numbers is one in which everything can be computed. */
#include "examples/nn/net.h"

#include "examples/nn/device_layers.h"
#include "examples/nn/layer.h"

#include <gangway/rng.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_OF_SAMPLE = 1 << 26 };

/* -- Adding layers ----------------------------------------------------------------------------- */

struct nn_net *nn_net_new(struct nn_shape input)
{
    struct nn_net *net = calloc(1, sizeof *net);
    if (net)
        net->layers = calloc(1, sizeof *net->layers);
    if (!net || !net->layers) {
        free(net);
        return NULL;
    }
    net->layers[0].shape = input;
    net->layers_count = 1;
    net->loss_scale = 1;
    if (input.channels < 1 || input.height < 1 || input.width < 1)
        net->rc = gw_error_set(&net->error, GW_EINVAL, "an input of %d x %d x %d has no number",
                               input.channels, input.height, input.width);
    return net;
}

/* Zeroed memory where the network computes. */
static void *room_new(const struct nn_net *net, size_t bytes)
{
    return net->device ? nn_device_alloc(net->device, bytes) : calloc(1, bytes);
}

static void room_free(const struct nn_net *net, void *memory)
{
    if (net->device)
        nn_device_release(net->device, memory);
    else
        free(memory);
}

static void entropy_free(const struct nn_net *net, struct nn_entropy *entropy)
{
    if (!entropy)
        return;
    room_free(net, entropy->gradient);
    room_free(net, entropy->labels);
    room_free(net, entropy->parts);
    room_free(net, entropy->sums);
    free(entropy->sent);
    free(entropy);
}

void nn_net_free(struct nn_net *net)
{
    if (!net)
        return;
    for (int i = 0; i < net->layers_count; i++) {
        struct nn_layer *layer = &net->layers[i];
        if (layer->kind || net->device) /* the input is the caller's */
            room_free(net, layer->value);
        room_free(net, layer->gradient);
        gw_sync_batch_norm_free(layer->norm);
        room_free(net, layer->places);
    }
    room_free(net, net->statistics);
    room_free(net, net->columns);
    room_free(net, net->products);
    entropy_free(net, net->entropy);
    free(net->statistics_copy);
    free(net->layers);
    free(net->tensors);
    free(net);
}

void nn_net_use_device(struct nn_net *net, struct nn_device *device)
{
    net->device = device;
}

void nn_net_synchronise(struct nn_net *net, struct gw_comm *comm)
{
    net->comm = comm;
}

static int fail(struct nn_net *net, int rc, const struct nn_kind *kind, const char *why)
{
    if (net->rc == 0)
        net->rc =
            gw_error_set(&net->error, rc, "layer %d (%s): %s", net->layers_count, kind->name, why);
    return -1;
}

/* Adds a layer whose inputs are there; returns its number, or -1. */
static int add(struct nn_net *net, struct nn_layer layer)
{
    for (int i = 0; i < layer.inputs_count; i++)
        if (layer.inputs[i] < 0 || layer.inputs[i] >= net->layers_count)
            return fail(net, GW_EINVAL, layer.kind, "its input is no layer");
    if (layer.shape.channels < 1 || layer.shape.height < 1 || layer.shape.width < 1 ||
        nn_shape_size(layer.shape) > SIZE_MAX_OF_SAMPLE)
        return fail(net, GW_EINVAL, layer.kind, "its output would have no number, or too many");
    struct nn_layer *layers =
        realloc(net->layers, (size_t)(net->layers_count + 1) * sizeof *layers);
    if (!layers)
        return fail(net, GW_ENOMEM, layer.kind, "out of memory");
    net->layers = layers;
    layers[net->layers_count] = layer;
    return net->layers_count++;
}

/* Adds a tensor to the newest layer. */
static int add_tensor(struct nn_net *net, const char *name, struct nn_tensor tensor)
{
    struct nn_tensor *tensors =
        realloc(net->tensors, (net->tensors_count + 1) * sizeof *net->tensors);
    struct nn_layer *layer = &net->layers[net->layers_count - 1];
    if (!tensors)
        return fail(net, GW_ENOMEM, layer->kind, "out of memory");
    net->tensors = tensors;
    tensor.count = 1;
    for (int i = 0; i < tensor.dims; i++)
        tensor.count *= tensor.shape[i];
    tensor.offset = net->parameters_count;
    (void)snprintf(tensor.name, sizeof tensor.name, "layer%d.%s", net->layers_count - 1, name);
    net->parameters_count += tensor.count;
    layer->tensors[layer->tensors_count++] = net->tensors_count;
    tensors[net->tensors_count++] = tensor;
    return 0;
}

struct nn_shape nn_net_shape(const struct nn_net *net, int layer)
{
    const struct nn_shape none = {0};
    return layer >= 0 && layer < net->layers_count ? net->layers[layer].shape : none;
}

/* A weight for so many inputs an output, and a bias. */
static int add_weight(struct nn_net *net, int layer, struct nn_tensor weight)
{
    if (layer < 0 || add_tensor(net, "weight", weight) < 0)
        return -1;
    const struct nn_tensor bias = {.dims = 1, .shape = {weight.shape[0]}, .no_decay = true};
    return add_tensor(net, "bias", bias) < 0 ? -1 : layer;
}

int nn_convolution(struct nn_net *net, int input, int channels, int kernel, int stride)
{
    const struct nn_shape from = nn_net_shape(net, input);
    if (kernel < 1 || kernel % 2 == 0 || stride < 1 || channels < 1 || kernel > 255)
        return fail(net, GW_EINVAL, &nn_kind_convolution,
                    "the size of the kernel must be odd and below 256, the stride 1 or more");
    const int layer = add(net, (struct nn_layer){.kind = &nn_kind_convolution,
                                                 .inputs = {input},
                                                 .inputs_count = 1,
                                                 .shape = {channels, (from.height - 1) / stride + 1,
                                                           (from.width - 1) / stride + 1},
                                                 .kernel = kernel,
                                                 .stride = stride});
    if (layer < 0)
        return layer;
    const size_t columns =
        (size_t)from.channels * (size_t)(kernel * kernel) * nn_shape_area(net->layers[layer].shape);
    if (columns > net->columns_count)
        net->columns_count = columns;
    const size_t products = (size_t)channels * (size_t)from.channels * (size_t)(kernel * kernel);
    if (products > net->products_count)
        net->products_count = products;
    return add_weight(net, layer,
                      (struct nn_tensor){.dims = 4,
                                         .shape = {(size_t)channels, (size_t)from.channels,
                                                   (size_t)kernel, (size_t)kernel}});
}

int nn_dense(struct nn_net *net, int input, int outputs)
{
    const struct nn_shape from = nn_net_shape(net, input);
    const int layer = add(net, (struct nn_layer){.kind = &nn_kind_dense,
                                                 .inputs = {input},
                                                 .inputs_count = 1,
                                                 .shape = {outputs, 1, 1}});
    return add_weight(
        net, layer, (struct nn_tensor){.dims = 2, .shape = {(size_t)outputs, nn_shape_size(from)}});
}

int nn_batch_norm(struct nn_net *net, int input)
{
    const struct nn_shape shape = nn_net_shape(net, input);
    const int layer = add(net, (struct nn_layer){.kind = &nn_kind_batch_norm,
                                                 .inputs = {input},
                                                 .inputs_count = 1,
                                                 .shape = shape,
                                                 .statistics = net->statistics_count});
    const struct nn_tensor tensor = {
        .dims = 1, .shape = {(size_t)shape.channels}, .no_decay = true};
    if (layer < 0 || add_tensor(net, "scale", tensor) < 0 || add_tensor(net, "shift", tensor) < 0)
        return -1;
    net->statistics_count += 2 * (size_t)shape.channels;
    return layer;
}

static int add_plain(struct nn_net *net, const struct nn_kind *kind, int input,
                     struct nn_shape shape, int kernel)
{
    return add(
        net,
        (struct nn_layer){
            .kind = kind, .inputs = {input}, .inputs_count = 1, .shape = shape, .kernel = kernel});
}

int nn_relu(struct nn_net *net, int input)
{
    return add_plain(net, &nn_kind_relu, input, nn_net_shape(net, input), 0);
}

int nn_max_pool(struct nn_net *net, int input, int size)
{
    const struct nn_shape from = nn_net_shape(net, input);
    if (size < 1)
        return fail(net, GW_EINVAL, &nn_kind_max_pool, "a square has a side of 1 or more");
    return add_plain(net, &nn_kind_max_pool, input,
                     (struct nn_shape){from.channels, from.height / size, from.width / size}, size);
}

int nn_average(struct nn_net *net, int input)
{
    const struct nn_shape from = nn_net_shape(net, input);
    return add_plain(net, &nn_kind_average, input, (struct nn_shape){from.channels, 1, 1}, 0);
}

int nn_add(struct nn_net *net, int first, int second)
{
    const struct nn_shape a = nn_net_shape(net, first), b = nn_net_shape(net, second);
    if (a.channels != b.channels || a.height != b.height || a.width != b.width)
        return fail(net, GW_EINVAL, &nn_kind_add, "its inputs have different shapes");
    return add(net,
               (struct nn_layer){
                   .kind = &nn_kind_add, .inputs = {first, second}, .inputs_count = 2, .shape = a});
}

/* -- Making room ------------------------------------------------------------------------------- */

static int norm_new(const struct nn_net *net, struct nn_layer *layer, struct gw_error *error)
{
    return gw_sync_batch_norm_new(
        GW_SYNC_BATCH_NORM_OPTIONS(.comm = net->comm, .channels = (size_t)layer->shape.channels,
                                   .dtype = sizeof(nn_real) == sizeof(double) ? GW_DTYPE_F64
                                                                              : GW_DTYPE_F32,
                                   .stream = net->device ? net->device->stream : NULL),
        &layer->norm, error);
}

static int allocate(const struct nn_net *net, struct nn_layer *layer, size_t samples,
                    struct gw_error *error)
{
    const size_t count = samples * nn_shape_size(layer->shape);
    layer->value = room_new(net, count * sizeof *layer->value);
    layer->gradient = room_new(net, count * sizeof *layer->gradient);
    if (layer->kind == &nn_kind_max_pool)
        layer->places = room_new(net, count * sizeof *layer->places);
    if (!layer->value || !layer->gradient || (layer->kind == &nn_kind_max_pool && !layer->places))
        return gw_error_set(error, GW_ENOMEM, "no memory for batches of %zu samples", samples);
    return layer->kind == &nn_kind_batch_norm ? norm_new(net, layer, error) : 0;
}

/* Running means are 0, running variances 1. */
static void reset_statistics(const struct nn_net *net, nn_real *statistics)
{
    for (int i = 1; i < net->layers_count; i++) {
        const struct nn_layer *layer = &net->layers[i];
        if (layer->kind == &nn_kind_batch_norm)
            for (int c = 0; c < layer->shape.channels; c++)
                statistics[layer->statistics + (size_t)(layer->shape.channels + c)] = 1;
    }
}

/* Memory that only a device needs: the input, more scratch, and a copy of the statistics. */
static int prepare_device(struct nn_net *net, size_t samples)
{
    const size_t input = samples * nn_shape_size(net->layers[0].shape);
    net->layers[0].value = room_new(net, input * sizeof(nn_real));
    net->products = room_new(net, (samples * net->products_count + 1) * sizeof *net->products);
    net->statistics_copy = calloc(net->statistics_count + 1, sizeof *net->statistics_copy);
    return net->layers[0].value && net->products && net->statistics_copy ? 0 : GW_ENOMEM;
}

int nn_net_prepare(struct nn_net *net, size_t samples, struct gw_error *error)
{
    int rc = net->rc;
    if (rc < 0)
        return gw_error_set(error, rc, "%s", net->error.text);
    if (samples < 1 || samples > UINT32_MAX || net->layers_count < 2)
        return gw_error_set(error, GW_EINVAL, "a network needs a layer and batches of a sample");
    for (int i = 1; i < net->layers_count && rc == 0; i++)
        rc = allocate(net, &net->layers[i], samples, error);
    if (rc < 0)
        return rc;
    net->samples_max = samples;
    const size_t at_once = net->device ? samples : 1, statistics = net->statistics_count + 1;
    net->columns = room_new(net, (at_once * net->columns_count + 1) * sizeof *net->columns);
    net->statistics = room_new(net, statistics * sizeof *net->statistics);
    if (net->device)
        rc = prepare_device(net, samples);
    if (rc < 0 || !net->columns || !net->statistics)
        return gw_error_set(error, GW_ENOMEM, "no memory for batches of %zu samples", samples);
    reset_statistics(net, net->device ? net->statistics_copy : net->statistics);
    openblas_set_num_threads(1);
    return nn_net_statistics_changed(net, error);
}

/* -- Parameters -------------------------------------------------------------------------------- */

size_t nn_net_tensors(const struct nn_net *net)
{
    return net->tensors_count;
}

const struct nn_tensor *nn_net_tensor(const struct nn_net *net, size_t i)
{
    return &net->tensors[i];
}

size_t nn_net_parameters(const struct nn_net *net)
{
    return net->parameters_count;
}

nn_real *nn_net_statistics(struct nn_net *net, size_t *count)
{
    *count = net->statistics_count;
    if (!net->device)
        return net->statistics;
    nn_device_copy(net->device, net->statistics_copy, net->statistics,
                   net->statistics_count * sizeof *net->statistics);
    (void)nn_device_wait(net->device, NULL); /* the failure stays in the device */
    return net->statistics_copy;
}

int nn_net_statistics_changed(struct nn_net *net, struct gw_error *error)
{
    if (!net->device)
        return 0;
    nn_device_copy(net->device, net->statistics, net->statistics_copy,
                   net->statistics_count * sizeof *net->statistics);
    return nn_device_wait(net->device, error);
}

void nn_net_randomise(const struct nn_net *net, uint64_t seed, nn_real *parameters)
{
    struct gw_rng rng;
    gw_rng_init(&rng, seed);
    for (int i = 1; i < net->layers_count; i++) {
        const struct nn_layer *layer = &net->layers[i];
        for (int t = 0; t < layer->tensors_count; t++) {
            const struct nn_tensor *tensor = &net->tensors[layer->tensors[t]];
            const struct nn_tensor *weight = &net->tensors[layer->tensors[0]];
            const double bound = sqrt((double)weight->shape[0] / (double)weight->count);
            for (size_t n = 0; n < tensor->count; n++)
                parameters[tensor->offset + n] =
                    layer->kind == &nn_kind_batch_norm
                        ? (nn_real)(t == 0)
                        : (nn_real)(bound * (2 * gw_rng_uniform(&rng) - 1));
        }
    }
}

/* -- Passes ------------------------------------------------------------------------------------ */

int nn_net_forward(struct nn_net *net, const nn_real *parameters, const nn_real *input,
                   size_t samples, bool training, const nn_real **output, struct gw_error *error)
{
    struct nn_pass pass = {.net = net,
                           .parameters = parameters,
                           .samples = samples,
                           .training = training,
                           .error = error};
    if (samples < 1 || samples > net->samples_max)
        return gw_error_set(error, GW_EINVAL,
                            "a batch of %zu samples: this network has room for %zu", samples,
                            net->samples_max);
    if (net->device)
        nn_device_copy(net->device, net->layers[0].value, input,
                       samples * nn_shape_size(net->layers[0].shape) * sizeof *input);
    else
        net->layers[0].value = (nn_real *)(uintptr_t)input;
    for (int i = 1; i < net->layers_count; i++) {
        struct nn_layer *layer = &net->layers[i];
        const int rc = net->device ? nn_device_layer_forward(&pass, layer)
                                   : layer->kind->forward(&pass, layer);
        if (rc < 0)
            return rc;
    }
    net->batch = samples;
    *output = net->layers[net->layers_count - 1].value;
    return 0;
}

int nn_net_backward(struct nn_net *net, const nn_real *parameters, const nn_real *output_gradient,
                    nn_real *const *gradients, nn_on_gradient *on_gradient, void *user,
                    struct gw_error *error)
{
    struct nn_pass pass = {.net = net,
                           .parameters = parameters,
                           .gradients = gradients,
                           .samples = net->batch,
                           .training = true,
                           .error = error};
    if (!output_gradient)
        output_gradient = net->entropy->gradient;
    for (int i = 1; i < net->layers_count; i++) {
        struct nn_layer *layer = &net->layers[i];
        const size_t bytes = pass.samples * nn_shape_size(layer->shape) * sizeof *layer->gradient;
        const bool is_output = i + 1 == net->layers_count;
        if (net->device && is_output)
            nn_device_copy(net->device, layer->gradient, output_gradient, bytes);
        else if (net->device)
            nn_device_zero(net->device, layer->gradient, bytes);
        else if (is_output)
            memcpy(layer->gradient, output_gradient, bytes);
        else
            memset(layer->gradient, 0, bytes);
    }
    for (int i = net->layers_count - 1; i > 0; i--) {
        struct nn_layer *layer = &net->layers[i];
        const int rc = net->device ? nn_device_layer_backward(&pass, layer)
                                   : layer->kind->backward(&pass, layer);
        if (rc < 0)
            return rc;
        for (int t = layer->tensors_count - 1; t >= 0 && on_gradient; t--)
            on_gradient(user, layer->tensors[t]);
    }
    return 0;
}

double nn_cross_entropy(const nn_real *output, const uint8_t *labels, size_t samples, int classes,
                        nn_real *gradient, size_t *right)
{
    double loss = 0;
    *right = 0;
    for (size_t s = 0; s < samples; s++) {
        const nn_real *row = output + s * (size_t)classes;
        int largest = 0;
        double sum = 0;
        for (int c = 1; c < classes; c++)
            largest = row[c] > row[largest] ? c : largest;
        for (int c = 0; c < classes; c++)
            sum += exp((double)(row[c] - row[largest]));
        loss += log(sum) - (double)(row[labels[s]] - row[largest]);
        *right += largest == labels[s];
        for (int c = 0; gradient && c < classes; c++)
            gradient[s * (size_t)classes + (size_t)c] =
                (nn_real)((exp((double)(row[c] - row[largest])) / sum - (c == labels[s])) /
                          (double)samples);
    }
    return loss / (double)samples;
}

/* -- The loss ---------------------------------------------------------------------------------- */

static int entropy_new(struct nn_net *net, struct gw_error *error)
{
    struct nn_entropy *made = calloc(1, sizeof *made);
    const size_t samples = net->samples_max;
    const size_t outputs = samples * nn_shape_size(net->layers[net->layers_count - 1].shape);
    bool complete = made != NULL;
    if (complete) {
        made->gradient = room_new(net, outputs * sizeof *made->gradient);
        complete = made->gradient != NULL;
    }
    if (complete && net->device) {
        made->labels = room_new(net, samples * sizeof *made->labels);
        made->parts = room_new(net, 2 * samples * sizeof *made->parts);
        made->sums = room_new(net, sizeof made->got);
        made->sent = calloc(samples, sizeof *made->sent);
        complete = made->labels && made->parts && made->sums && made->sent;
    }
    if (!complete) {
        entropy_free(net, made);
        return gw_error_set(error, GW_ENOMEM, "no memory for the loss of %zu samples", samples);
    }
    net->entropy = made;
    return 0;
}

static void entropy_on_device(struct nn_net *net, const uint8_t *labels, int classes)
{
    struct nn_entropy *own = net->entropy;
    const size_t samples = net->batch;
    for (size_t i = 0; i < samples; i++)
        own->sent[i] = labels[i];
    nn_device_copy(net->device, own->labels, own->sent, samples * sizeof *own->sent);
    NN_DEVICE_RUN(net->device, .kind = NN_KERNEL_ENTROPY, .count = samples,
                  .at = {net->layers[net->layers_count - 1].value, own->labels, own->parts,
                         own->parts + samples, own->gradient},
                  .n = {classes}, .x = (double)samples / net->loss_scale);
    NN_DEVICE_RUN(net->device, .kind = NN_KERNEL_SUM_DOUBLES, .count = 1,
                  .at = {own->parts, own->parts + samples, own->sums}, .n = {(int64_t)samples});
    nn_device_copy(net->device, own->got, own->sums, sizeof own->got);
}

int nn_net_entropy(struct nn_net *net, const uint8_t *labels, struct gw_error *error)
{
    const struct nn_layer *output = &net->layers[net->layers_count - 1];
    const int classes = (int)nn_shape_size(output->shape);
    const int rc = net->entropy ? 0 : entropy_new(net, error);
    if (rc < 0)
        return rc;
    if (net->device) {
        entropy_on_device(net, labels, classes);
        return 0;
    }
    net->entropy->loss = nn_cross_entropy(output->value, labels, net->batch, classes,
                                          net->entropy->gradient, &net->entropy->right);
    for (size_t i = 0; net->loss_scale != 1 && i < net->batch * (size_t)classes; i++)
        net->entropy->gradient[i] *= (nn_real)net->loss_scale;
    return 0;
}

void nn_net_scale_loss(struct nn_net *net, double scale)
{
    net->loss_scale = scale;
}

int nn_net_entropy_end(struct nn_net *net, double *loss, size_t *right, struct gw_error *error)
{
    struct nn_entropy *own = net->entropy;
    const int rc = net->device ? nn_device_wait(net->device, error) : 0;
    if (rc < 0)
        return rc;
    *loss = net->device ? own->got[0] / (double)net->batch : own->loss;
    *right = net->device ? (size_t)own->got[1] : own->right;
    return 0;
}
