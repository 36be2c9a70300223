/* Layers on a GPU. A convolution makes the squares of all samples at once ("im2col"), for one
 * product a sample, all in one call of cuBLAS. Gradients of weights are products of each sample,
 * added up in the order of the samples. */
#include "examples/nn/device_layers.h"

#include <assert.h>

static struct nn_device *device_of(const struct nn_pass *pass)
{
    return pass->net->device;
}

static size_t count_of(const struct nn_pass *pass, const struct nn_layer *layer)
{
    return pass->samples * nn_shape_size(layer->shape);
}

static nn_real *weight_of(const struct nn_pass *pass, const struct nn_layer *layer, int i)
{
    return (nn_real *)(uintptr_t)nn_layer_tensor(pass, layer, i); /* kernels take no constants */
}

/* -- Convolution ------------------------------------------------------------------------------- */

/* The squares of all samples, or their gradients, as a kernel: columns[sample][inner][area]. */
static struct nn_kernel squares(const struct nn_pass *pass, const struct nn_layer *layer, bool back)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const struct nn_shape from = input->shape;
    struct nn_kernel kernel = {.kind = back ? NN_KERNEL_UNSQUARES : NN_KERNEL_SQUARES,
                               .count = back ? pass->samples * nn_shape_size(from)
                                             : pass->samples * nn_shape_area(layer->shape) *
                                                   (size_t)from.channels *
                                                   (size_t)(layer->kernel * layer->kernel),
                               .at = {back ? pass->net->columns : input->value,
                                      back ? input->gradient : pass->net->columns},
                               .n = {from.channels, from.height, from.width, layer->kernel,
                                     layer->stride, layer->shape.height, layer->shape.width}};
    return kernel;
}

static int convolution_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_kernel columns = squares(pass, layer, false);
    const int channels = layer->shape.channels, area = (int)nn_shape_area(layer->shape);
    const int inner =
        nn_layer_input(pass, layer, 0)->shape.channels * layer->kernel * layer->kernel;
    nn_device_run(device_of(pass), &columns);
    NN_DEVICE_RUN(device_of(pass), .kind = NN_KERNEL_FILL, .count = count_of(pass, layer),
                  .at = {weight_of(pass, layer, 1), layer->value}, .n = {channels, area});
    nn_device_product(device_of(pass), &(struct nn_product){.m = channels,
                                                            .n = area,
                                                            .k = inner,
                                                            .a = weight_of(pass, layer, 0),
                                                            .row_a = inner,
                                                            .b = pass->net->columns,
                                                            .row_b = area,
                                                            .step_b = (size_t)(inner * area),
                                                            .c = layer->value,
                                                            .row_c = area,
                                                            .step_c = (size_t)(channels * area),
                                                            .beta = 1,
                                                            .count = (int)pass->samples});
    return 0;
}

static void sum_bias(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_shape shape = layer->shape;
    NN_DEVICE_RUN(device_of(pass), .kind = NN_KERNEL_SUM_BIAS, .count = (uint64_t)shape.channels,
                  .at = {layer->gradient, nn_layer_tensor_gradient(pass, layer, 1)},
                  .n = {shape.channels, (int64_t)nn_shape_area(shape), (int64_t)pass->samples});
}

static int convolution_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_kernel columns = squares(pass, layer, false), back = squares(pass, layer, true);
    const int channels = layer->shape.channels, area = (int)nn_shape_area(layer->shape);
    const int inner =
        nn_layer_input(pass, layer, 0)->shape.channels * layer->kernel * layer->kernel;
    const struct nn_product to_weight = {.b_turned = true,
                                         .m = channels,
                                         .n = inner,
                                         .k = area,
                                         .a = layer->gradient,
                                         .row_a = area,
                                         .step_a = (size_t)(channels * area),
                                         .b = pass->net->columns,
                                         .row_b = area,
                                         .step_b = (size_t)(inner * area),
                                         .c = pass->net->products,
                                         .row_c = inner,
                                         .step_c = (size_t)(channels * inner),
                                         .count = (int)pass->samples};
    const struct nn_product to_columns = {.a_turned = true,
                                          .m = inner,
                                          .n = area,
                                          .k = channels,
                                          .a = weight_of(pass, layer, 0),
                                          .row_a = inner,
                                          .b = layer->gradient,
                                          .row_b = area,
                                          .step_b = (size_t)(channels * area),
                                          .c = pass->net->columns,
                                          .row_c = area,
                                          .step_c = (size_t)(inner * area),
                                          .count = (int)pass->samples};
    nn_device_run(device_of(pass), &columns);
    nn_device_product(device_of(pass), &to_weight);
    NN_DEVICE_RUN(device_of(pass), .kind = NN_KERNEL_ADD_ROWS,
                  .count = (uint64_t)(channels * inner),
                  .at = {pass->net->products, nn_layer_tensor_gradient(pass, layer, 0)},
                  .n = {(int64_t)pass->samples, channels * inner});
    sum_bias(pass, layer);
    if (!nn_layer_input(pass, layer, 0)->kind) /* the input of the network needs no gradient */
        return 0;
    nn_device_product(device_of(pass), &to_columns);
    nn_device_run(device_of(pass), &back);
    return 0;
}

/* -- Dense ------------------------------------------------------------------------------------- */

static int dense_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const int outputs = layer->shape.channels, inputs = (int)nn_shape_size(input->shape);
    NN_DEVICE_RUN(device_of(pass), .kind = NN_KERNEL_FILL, .count = count_of(pass, layer),
                  .at = {weight_of(pass, layer, 1), layer->value}, .n = {outputs, 1});
    nn_device_product(device_of(pass), &(struct nn_product){.b_turned = true,
                                                            .m = (int)pass->samples,
                                                            .n = outputs,
                                                            .k = inputs,
                                                            .a = input->value,
                                                            .row_a = inputs,
                                                            .b = weight_of(pass, layer, 0),
                                                            .row_b = inputs,
                                                            .c = layer->value,
                                                            .row_c = outputs,
                                                            .beta = 1});
    return 0;
}

static int dense_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const int outputs = layer->shape.channels, inputs = (int)nn_shape_size(input->shape);
    const struct nn_product to_weight = {.a_turned = true,
                                         .m = outputs,
                                         .n = inputs,
                                         .k = (int)pass->samples,
                                         .a = layer->gradient,
                                         .row_a = outputs,
                                         .b = input->value,
                                         .row_b = inputs,
                                         .c = nn_layer_tensor_gradient(pass, layer, 0),
                                         .row_c = inputs,
                                         .beta = 1};
    const struct nn_product to_input = {.m = (int)pass->samples,
                                        .n = inputs,
                                        .k = outputs,
                                        .a = layer->gradient,
                                        .row_a = outputs,
                                        .b = weight_of(pass, layer, 0),
                                        .row_b = inputs,
                                        .c = input->gradient,
                                        .row_c = inputs,
                                        .beta = 1};
    nn_device_product(device_of(pass), &to_weight);
    sum_bias(pass, layer);
    if (input->kind)
        nn_device_product(device_of(pass), &to_input);
    return 0;
}

/* -- Layers without parameters ----------------------------------------------------------------- */

/* One kernel, from the input to the value. */
static int plain_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    struct nn_kernel kernel = {.count = count_of(pass, layer), .at = {input->value, layer->value}};
    if (layer->kind == &nn_kind_relu) {
        kernel.kind = NN_KERNEL_RELU;
    } else if (layer->kind == &nn_kind_average) {
        kernel.kind = NN_KERNEL_MEAN;
        kernel.n[0] = (int64_t)nn_shape_area(input->shape);
    } else if (layer->kind == &nn_kind_add) {
        kernel.kind = NN_KERNEL_ADD;
        kernel.at[1] = nn_layer_input(pass, layer, 1)->value;
        kernel.at[2] = layer->value;
    } else {
        kernel = (struct nn_kernel){.kind = NN_KERNEL_POOL,
                                    .count = count_of(pass, layer),
                                    .at = {input->value, layer->value, layer->places},
                                    .n = {layer->kernel, input->shape.height, input->shape.width,
                                          layer->shape.height, layer->shape.width}};
    }
    nn_device_run(device_of(pass), &kernel);
    return 0;
}

/* One kernel for each input that needs a gradient. */
static int plain_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    for (int i = 0; i < layer->inputs_count; i++) {
        struct nn_layer *input = nn_layer_input(pass, layer, i);
        const size_t inputs = pass->samples * nn_shape_size(input->shape);
        struct nn_kernel kernel = {.count = inputs, .at = {layer->gradient, input->gradient}};
        if (!input->kind)
            continue;
        if (layer->kind == &nn_kind_add) {
            kernel.kind = NN_KERNEL_ACCUMULATE;
        } else if (layer->kind == &nn_kind_average) {
            kernel.kind = NN_KERNEL_MEAN_BACK;
            kernel.n[0] = (int64_t)nn_shape_area(input->shape);
        } else if (layer->kind == &nn_kind_relu) {
            kernel = (struct nn_kernel){.kind = NN_KERNEL_RELU_BACK,
                                        .count = inputs,
                                        .at = {layer->value, layer->gradient, input->gradient}};
        } else {
            kernel =
                (struct nn_kernel){.kind = NN_KERNEL_POOL_BACK,
                                   .count = inputs,
                                   .at = {layer->gradient, layer->places, input->gradient},
                                   .n = {layer->kernel, input->shape.height, input->shape.width,
                                         layer->shape.height, layer->shape.width}};
        }
        nn_device_run(device_of(pass), &kernel);
    }
    return 0;
}

/* -- All of them ------------------------------------------------------------------------------- */

int nn_device_layer_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    if (layer->kind == &nn_kind_convolution)
        return convolution_forward(pass, layer);
    if (layer->kind == &nn_kind_dense)
        return dense_forward(pass, layer);
    if (layer->kind == &nn_kind_batch_norm)
        return layer->kind->forward(pass, layer);
    return plain_forward(pass, layer);
}

int nn_device_layer_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    if (layer->kind == &nn_kind_convolution)
        return convolution_backward(pass, layer);
    if (layer->kind == &nn_kind_dense)
        return dense_backward(pass, layer);
    if (layer->kind == &nn_kind_batch_norm)
        return layer->kind->backward(pass, layer);
    return plain_backward(pass, layer);
}
