/* Layers that are products: convolutions, one sample at a time as a product with the matrix of its
 * squares ("im2col"), and dense layers. */
#include "examples/nn/layer.h"

#include <string.h>

/* -- Convolution ------------------------------------------------------------------------------- */

/* The part of a row of outputs whose inputs are inside: from *first to *end. Input column of output
 * x is x * stride + shift. */
static void inside(int shift, int stride, int from_width, int width, int *first, int *end)
{
    *first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *end = shift > from_width - 1 ? 0 : (from_width - 1 - shift) / stride + 1;
    *end = *end > width ? width : *end;
    *first = *first > *end ? *end : *first;
}

/* A row of a matrix of squares: one place of the kernel in one channel, for all outputs. Copies it
 * out of the image, or adds it to the image. */
static void square_row(nn_real *row, nn_real *image, const struct nn_layer *layer,
                       struct nn_shape from, int dy, int dx, bool adds)
{
    const int width = layer->shape.width, stride = layer->stride;
    int first, end;
    inside(dx, stride, from.width, width, &first, &end);
    for (int y = 0; y < layer->shape.height; y++, row += width) {
        const int at = y * stride + dy, line = at * from.width + dx;
        const int last = at >= 0 && at < from.height ? end : first;
        if (!adds)
            memset(row, 0, (size_t)width * sizeof *row);
        for (int x = first; x < last && !adds; x++)
            row[x] = image[line + x * stride];
        for (int x = first; x < last && adds; x++)
            image[line + x * stride] += row[x];
    }
}

static void squares(nn_real *columns, nn_real *image, const struct nn_layer *layer,
                    struct nn_shape from, bool adds)
{
    const int half = layer->kernel / 2;
    const size_t area = nn_shape_area(layer->shape);
    for (int c = 0; c < from.channels; c++, image += nn_shape_area(from))
        for (int dy = -half; dy <= half; dy++)
            for (int dx = -half; dx <= half; dx++, columns += area)
                square_row(columns, image, layer, from, dy, dx, adds);
}

static int convolution_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const nn_real *weight = nn_layer_tensor(pass, layer, 0),
                  *bias = nn_layer_tensor(pass, layer, 1);
    const int channels = layer->shape.channels, area = (int)nn_shape_area(layer->shape);
    const int inner = input->shape.channels * layer->kernel * layer->kernel;
    for (size_t s = 0; s < pass->samples; s++) {
        nn_real *value = layer->value + s * nn_shape_size(layer->shape);
        squares(pass->net->columns, input->value + s * nn_shape_size(input->shape), layer,
                input->shape, false);
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < area; i++)
                value[c * area + i] = bias[c];
        nn_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, channels, area, inner, 1, weight, inner,
                pass->net->columns, area, 1, value, area);
    }
    return 0;
}

static int convolution_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const nn_real *weight = nn_layer_tensor(pass, layer, 0);
    nn_real *weight_gradient = nn_layer_tensor_gradient(pass, layer, 0);
    nn_real *bias_gradient = nn_layer_tensor_gradient(pass, layer, 1);
    nn_real *columns = pass->net->columns;
    const int channels = layer->shape.channels, area = (int)nn_shape_area(layer->shape);
    const int inner = input->shape.channels * layer->kernel * layer->kernel;
    for (size_t s = 0; s < pass->samples; s++) {
        const nn_real *gradient = layer->gradient + s * nn_shape_size(layer->shape);
        const size_t at = s * nn_shape_size(input->shape);
        squares(columns, input->value + at, layer, input->shape, false);
        nn_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, channels, inner, area, 1, gradient, area,
                columns, area, 1, weight_gradient, inner);
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < area; i++)
                bias_gradient[c] += gradient[c * area + i];
        if (!input->kind) /* the input of the network needs no gradient */
            continue;
        nn_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, inner, area, channels, 1, weight, inner,
                gradient, area, 0, columns, area);
        squares(columns, input->gradient + at, layer, input->shape, true);
    }
    return 0;
}

const struct nn_kind nn_kind_convolution = {"convolution", convolution_forward,
                                            convolution_backward};

/* -- Dense ------------------------------------------------------------------------------------- */

static int dense_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const nn_real *bias = nn_layer_tensor(pass, layer, 1);
    const int outputs = layer->shape.channels, inputs = (int)nn_shape_size(input->shape);
    for (size_t s = 0; s < pass->samples; s++)
        memcpy(layer->value + s * (size_t)outputs, bias, (size_t)outputs * sizeof *bias);
    nn_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)pass->samples, outputs, inputs, 1,
            input->value, inputs, nn_layer_tensor(pass, layer, 0), inputs, 1, layer->value,
            outputs);
    return 0;
}

static int dense_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    nn_real *bias_gradient = nn_layer_tensor_gradient(pass, layer, 1);
    const int outputs = layer->shape.channels, inputs = (int)nn_shape_size(input->shape);
    const int samples = (int)pass->samples;
    nn_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, outputs, inputs, samples, 1, layer->gradient,
            outputs, input->value, inputs, 1, nn_layer_tensor_gradient(pass, layer, 0), inputs);
    for (int s = 0; s < samples; s++)
        for (int o = 0; o < outputs; o++)
            bias_gradient[o] += layer->gradient[s * outputs + o];
    if (input->kind)
        nn_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, samples, inputs, outputs, 1,
                layer->gradient, outputs, nn_layer_tensor(pass, layer, 0), inputs, 1,
                input->gradient, inputs);
    return 0;
}

const struct nn_kind nn_kind_dense = {"dense", dense_forward, dense_backward};
