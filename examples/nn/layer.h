/* A layer, as the files of this folder see it. */
#ifndef GW_EXAMPLES_NN_LAYER_H
#define GW_EXAMPLES_NN_LAYER_H

#include "examples/nn/tensor.h"

#include <gangway/sync_batch_norm.h>

struct nn_device;

enum { NN_INPUTS_MAX = 2, NN_LAYER_TENSORS_MAX = 2 };

struct nn_pass;
struct nn_layer;

/* What a kind of layer does. forward writes layer->value. backward adds to layer->gradient of its
 * inputs and to the gradients of its tensors; it may overwrite its own value and gradient. */
struct nn_kind {
    const char *name;
    int (*forward)(struct nn_pass *pass, struct nn_layer *layer);
    int (*backward)(struct nn_pass *pass, struct nn_layer *layer);
};

struct nn_layer {
    const struct nn_kind *kind; /* NULL: the input of the network */
    int inputs[NN_INPUTS_MAX];
    int inputs_count;
    struct nn_shape shape;
    int kernel, stride;
    size_t tensors[NN_LAYER_TENSORS_MAX]; /* numbers of its tensors: weight and bias */
    int tensors_count;
    size_t statistics; /* batch norm: offset of its running means, then variances */
    nn_real *value;    /* [samples][shape] */
    nn_real *gradient; /* [samples][shape] */
    struct gw_sync_batch_norm *norm;
    uint32_t *places; /* max pool: the place of the largest, [samples][shape] */
};

struct nn_net {
    struct nn_layer *layers;
    int layers_count;
    struct nn_tensor *tensors;
    size_t tensors_count;
    size_t parameters_count;
    nn_real *statistics; /* means and variances of all normalisations */
    size_t statistics_count;
    nn_real *columns; /* scratch of convolutions; on a device [samples][...] */
    size_t columns_count;
    nn_real *products; /* the same, on a device: gradients of weights, [samples][...] */
    size_t products_count;
    struct nn_entropy *entropy; /* used by nn_net_entropy; NULL: not yet */
    double loss_scale;          /* of gradients, see nn_net_scale_loss */
    struct nn_device *device;   /* NULL: the CPU; else values, gradients, statistics and scratch are
                                   in its memory */
    nn_real *statistics_copy;   /* on the host, if there is a device */
    size_t samples_max;
    size_t batch;          /* samples of the last forward pass */
    struct gw_comm *comm;  /* of normalisations; NULL: each rank for itself */
    struct gw_error error; /* the first; its code is 0 if there is none */
    int rc;
};

/* One pass over the network. */
struct nn_pass {
    struct nn_net *net;
    const nn_real *parameters;
    nn_real *const *gradients; /* backward */
    size_t samples;
    bool training;
    struct gw_error *error;
};

/* The loss of a batch, of samples_max samples. */
struct nn_entropy {
    nn_real *gradient;       /* of the output, [samples][outputs] */
    double loss;             /* the mean, on the CPU */
    size_t right;            /* on the CPU */
    uint32_t *labels, *sent; /* [samples], on a device, and on the host */
    double *parts;           /* [2][samples] losses and hits, on a device */
    double *sums, got[2];    /* of the parts, on a device, and on the host */
};

extern const struct nn_kind nn_kind_convolution, nn_kind_dense, nn_kind_batch_norm, nn_kind_relu,
    nn_kind_max_pool, nn_kind_average, nn_kind_add;

static inline size_t nn_shape_area(struct nn_shape shape)
{
    return (size_t)shape.height * (size_t)shape.width;
}

static inline size_t nn_shape_size(struct nn_shape shape)
{
    return (size_t)shape.channels * nn_shape_area(shape);
}

static inline struct nn_layer *nn_layer_input(const struct nn_pass *pass,
                                              const struct nn_layer *layer, int i)
{
    return &pass->net->layers[layer->inputs[i]];
}

/* The values of a layer's tensor, 0 or 1. */
static inline const nn_real *nn_layer_tensor(const struct nn_pass *pass,
                                             const struct nn_layer *layer, int i)
{
    return pass->parameters + pass->net->tensors[layer->tensors[i]].offset;
}

static inline nn_real *nn_layer_tensor_gradient(const struct nn_pass *pass,
                                                const struct nn_layer *layer, int i)
{
    return pass->gradients[layer->tensors[i]];
}

#endif
