/* Layers on a GPU: the passes of each kind of layer, and what they need of a network's memory. */
#ifndef GW_EXAMPLES_NN_DEVICE_LAYERS_H
#define GW_EXAMPLES_NN_DEVICE_LAYERS_H

#include "examples/nn/device.h"
#include "examples/nn/layer.h"

/* nn_device_layer_forward and nn_device_layer_backward start what the layer's kind does on the CPU,
 * on memory of the device. Errors are those of <gangway/sync_batch_norm.h>; failures of the device
 * stay in it. */
int nn_device_layer_forward(struct nn_pass *pass, struct nn_layer *layer);
int nn_device_layer_backward(struct nn_pass *pass, struct nn_layer *layer);

#endif
