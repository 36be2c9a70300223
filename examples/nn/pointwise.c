/* Layers without parameters. */
#include "examples/nn/layer.h"

/* -- ReLU -------------------------------------------------------------------------------------- */

static int relu_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const nn_real *from = nn_layer_input(pass, layer, 0)->value;
    const size_t count = pass->samples * nn_shape_size(layer->shape);
    for (size_t i = 0; i < count; i++)
        layer->value[i] = from[i] > 0 ? from[i] : 0;
    return 0;
}

static int relu_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const size_t count = pass->samples * nn_shape_size(layer->shape);
    for (size_t i = 0; i < count && input->kind; i++)
        input->gradient[i] += layer->value[i] > 0 ? layer->gradient[i] : 0;
    return 0;
}

const struct nn_kind nn_kind_relu = {"relu", relu_forward, relu_backward};

/* -- Max pool ---------------------------------------------------------------------------------- */

/* The place of the largest number in a square whose upper left corner is at `at`. */
static uint32_t largest(const nn_real *plane, size_t at, int width, int size)
{
    size_t best = at;
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            const size_t place = at + (size_t)y * (size_t)width + (size_t)x;
            best = plane[place] > plane[best] ? place : best;
        }
    return (uint32_t)best;
}

static int max_pool_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const size_t planes = pass->samples * (size_t)layer->shape.channels;
    const int size = layer->kernel, width = input->shape.width;
    size_t out = 0;
    for (size_t p = 0; p < planes; p++) {
        const nn_real *plane = input->value + p * nn_shape_area(input->shape);
        for (int y = 0; y < layer->shape.height; y++)
            for (int x = 0; x < layer->shape.width; x++, out++) {
                layer->places[out] =
                    largest(plane, (size_t)(y * size * width + x * size), width, size);
                layer->value[out] = plane[layer->places[out]];
            }
    }
    return 0;
}

static int max_pool_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const size_t planes = pass->samples * (size_t)layer->shape.channels;
    const size_t area = nn_shape_area(layer->shape), from_area = nn_shape_area(input->shape);
    for (size_t p = 0; p < planes && input->kind; p++)
        for (size_t i = 0; i < area; i++)
            input->gradient[p * from_area + layer->places[p * area + i]] +=
                layer->gradient[p * area + i];
    return 0;
}

const struct nn_kind nn_kind_max_pool = {"max pool", max_pool_forward, max_pool_backward};

/* -- Average ----------------------------------------------------------------------------------- */

static int average_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const size_t planes = pass->samples * (size_t)layer->shape.channels;
    const size_t area = nn_shape_area(input->shape);
    for (size_t p = 0; p < planes; p++) {
        double sum = 0;
        for (size_t i = 0; i < area; i++)
            sum += input->value[p * area + i];
        layer->value[p] = (nn_real)(sum / (double)area);
    }
    return 0;
}

static int average_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const size_t planes = pass->samples * (size_t)layer->shape.channels;
    const size_t area = nn_shape_area(input->shape);
    for (size_t p = 0; p < planes && input->kind; p++)
        for (size_t i = 0; i < area; i++)
            input->gradient[p * area + i] += layer->gradient[p] / (nn_real)area;
    return 0;
}

const struct nn_kind nn_kind_average = {"average", average_forward, average_backward};

/* -- Add --------------------------------------------------------------------------------------- */

static int add_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const nn_real *first = nn_layer_input(pass, layer, 0)->value;
    const nn_real *second = nn_layer_input(pass, layer, 1)->value;
    const size_t count = pass->samples * nn_shape_size(layer->shape);
    for (size_t i = 0; i < count; i++)
        layer->value[i] = first[i] + second[i];
    return 0;
}

static int add_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    const size_t count = pass->samples * nn_shape_size(layer->shape);
    for (int n = 0; n < layer->inputs_count; n++) {
        struct nn_layer *input = nn_layer_input(pass, layer, n);
        for (size_t i = 0; i < count && input->kind; i++)
            input->gradient[i] += layer->gradient[i];
    }
    return 0;
}

const struct nn_kind nn_kind_add = {"add", add_forward, add_backward};
