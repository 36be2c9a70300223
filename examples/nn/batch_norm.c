/* Batch normalisation by <gangway/sync_batch_norm.h>, on the CPU and on a device: over the batch of
 * one rank or of all ranks together. */
#include "examples/nn/layer.h"

/* The arrays of a pass, which are where the network computes. */
static struct gw_sync_batch_norm_pass arrays_of(struct nn_pass *pass, struct nn_layer *layer)
{
    nn_real *running = pass->net->statistics + layer->statistics;
    return (struct gw_sync_batch_norm_pass){
        .samples = pass->samples,
        .area = nn_shape_area(layer->shape),
        .x = nn_layer_input(pass, layer, 0)->value,
        .y = layer->value,
        .scale = nn_layer_tensor(pass, layer, 0),
        .shift = nn_layer_tensor(pass, layer, 1),
        .running_mean = running,
        .running_variance = running + layer->shape.channels,
    };
}

static int batch_norm_forward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct gw_sync_batch_norm_pass arrays = arrays_of(pass, layer);
    return pass->training ? gw_sync_batch_norm_train(layer->norm, &arrays, pass->error)
                          : gw_sync_batch_norm_evaluate(layer->norm, &arrays, pass->error);
}

static int batch_norm_backward(struct nn_pass *pass, struct nn_layer *layer)
{
    const struct nn_layer *input = nn_layer_input(pass, layer, 0);
    struct gw_sync_batch_norm_pass arrays = arrays_of(pass, layer);
    arrays.y_gradient = layer->gradient;
    arrays.x_gradient = input->kind ? input->gradient : NULL; /* the input of the network */
    arrays.scale_gradient = nn_layer_tensor_gradient(pass, layer, 0);
    arrays.shift_gradient = nn_layer_tensor_gradient(pass, layer, 1);
    return gw_sync_batch_norm_backward(layer->norm, &arrays, pass->error);
}

const struct nn_kind nn_kind_batch_norm = {"batch norm", batch_norm_forward, batch_norm_backward};
