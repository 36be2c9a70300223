/* Batch normalisation, over the batch of one rank or of all ranks together.
 *
 * With n numbers of a channel, mean m, deviation d and x' = (x - m) / d, the gradient of x is
 *     scale / d (g - mean(g) - x' mean(g x'))      with g the gradient of the output
 * (Ioffe and Szegedy, arXiv 1502.03167, section 3). All four means are over the same batch. */
#include "examples/nn/layer.h"

#include <math.h>

static const double EPSILON = 1e-5, MOMENTUM = 0.1;

/* The offset of one channel of one sample. */
static size_t plane_of(const struct nn_layer *layer, size_t sample, int channel)
{
    return (sample * (size_t)layer->shape.channels + (size_t)channel) * nn_shape_area(layer->shape);
}

/* Sums of all ranks: sums[2 * channels]. */
static int over_ranks(struct nn_pass *pass, const struct nn_layer *layer)
{
    struct nn_net *net = pass->net;
    return net->sum ? net->sum(net->user, net->sums, 2 * (size_t)layer->shape.channels, pass->error)
                    : 0;
}

static double numbers(const struct nn_pass *pass, const struct nn_layer *layer)
{
    return (double)pass->samples * (double)nn_shape_area(layer->shape) * pass->net->ranks;
}

/* Means and deviations of the batch. */
static int measure(struct nn_pass *pass, struct nn_layer *layer, const nn_real *from)
{
    const int channels = layer->shape.channels;
    const size_t area = nn_shape_area(layer->shape);
    const double n = numbers(pass, layer);
    double *sums = pass->net->sums;
    nn_real *running = pass->net->statistics + layer->statistics;
    for (int c = 0; c < channels; c++) {
        double sum = 0, squares = 0;
        for (size_t s = 0; s < pass->samples; s++) {
            const nn_real *plane = from + plane_of(layer, s, c);
            for (size_t i = 0; i < area; i++) {
                sum += plane[i];
                squares += (double)plane[i] * plane[i];
            }
        }
        sums[c] = sum;
        sums[channels + c] = squares;
    }
    const int rc = over_ranks(pass, layer);
    for (int c = 0; c < channels && rc == 0; c++) {
        const double mean = sums[c] / n, spread = sums[channels + c] / n - mean * mean;
        const double variance = spread > 0 ? spread : 0, unbiased = n > 1 ? n / (n - 1) : 1;
        layer->moments[c] = mean;
        layer->moments[channels + c] = 1 / sqrt(variance + EPSILON);
        running[c] += (nn_real)(MOMENTUM * (mean - running[c]));
        running[channels + c] +=
            (nn_real)(MOMENTUM * (variance * unbiased - running[channels + c]));
    }
    return rc;
}

static int batch_norm_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const nn_real *from = nn_layer_input(pass, layer, 0)->value;
    const nn_real *scale = nn_layer_tensor(pass, layer, 0),
                  *shift = nn_layer_tensor(pass, layer, 1);
    const nn_real *running = pass->net->statistics + layer->statistics;
    const int channels = layer->shape.channels;
    const size_t area = nn_shape_area(layer->shape);
    const int rc = pass->training ? measure(pass, layer, from) : 0;
    for (int c = 0; c < channels && rc == 0; c++) {
        const double mean = pass->training ? layer->moments[c] : running[c];
        const double per_deviation = pass->training
                                         ? layer->moments[channels + c]
                                         : 1 / sqrt((double)running[channels + c] + EPSILON);
        const nn_real factor = (nn_real)(scale[c] * per_deviation);
        const nn_real offset = (nn_real)(shift[c] - mean * scale[c] * per_deviation);
        for (size_t s = 0; s < pass->samples; s++) {
            const size_t at = plane_of(layer, s, c);
            for (size_t i = at; i < at + area; i++)
                layer->value[i] = factor * from[i] + offset;
        }
    }
    return rc;
}

/* Sums of the gradient g of a layer, and of g x', of this rank; they are also the gradients of
 * shift and scale. */
static void sum_gradients(struct nn_pass *pass, const struct nn_layer *layer, const nn_real *from)
{
    const int channels = layer->shape.channels;
    const size_t area = nn_shape_area(layer->shape);
    for (int c = 0; c < channels; c++) {
        const double mean = layer->moments[c], per_deviation = layer->moments[channels + c];
        double sum = 0, products = 0;
        for (size_t s = 0; s < pass->samples; s++) {
            const size_t at = plane_of(layer, s, c);
            for (size_t i = at; i < at + area; i++) {
                sum += layer->gradient[i];
                products += layer->gradient[i] * ((from[i] - mean) * per_deviation);
            }
        }
        nn_layer_tensor_gradient(pass, layer, 0)[c] += (nn_real)products;
        nn_layer_tensor_gradient(pass, layer, 1)[c] += (nn_real)sum;
        pass->net->sums[c] = sum;
        pass->net->sums[channels + c] = products;
    }
}

static int batch_norm_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    struct nn_layer *input = nn_layer_input(pass, layer, 0);
    const nn_real *scale = nn_layer_tensor(pass, layer, 0), *from = input->value;
    const int channels = layer->shape.channels;
    const size_t area = nn_shape_area(layer->shape);
    const double n = numbers(pass, layer);
    sum_gradients(pass, layer, from);
    const int rc = over_ranks(pass, layer);
    for (int c = 0; c < channels && rc == 0 && input->kind; c++) {
        const double mean = layer->moments[c], per_deviation = layer->moments[channels + c];
        const double sum = pass->net->sums[c] / n, products = pass->net->sums[channels + c] / n;
        const double factor = scale[c] * per_deviation;
        for (size_t s = 0; s < pass->samples; s++) {
            const size_t at = plane_of(layer, s, c);
            for (size_t i = at; i < at + area; i++)
                input->gradient[i] +=
                    (nn_real)(factor * (layer->gradient[i] - sum -
                                        (from[i] - mean) * per_deviation * products));
        }
    }
    return rc;
}

const struct nn_kind nn_kind_batch_norm = {"batch norm", batch_norm_forward, batch_norm_backward};
