/* Shapes and parameter tensors of layers. */
#ifndef GW_EXAMPLES_NN_TENSOR_H
#define GW_EXAMPLES_NN_TENSOR_H

#include "examples/nn/real.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NN_DIMS_MAX = 4 };

/* The shape of one sample at a layer. */
struct nn_shape {
    int channels, height, width;
};

/* A parameter tensor. */
struct nn_tensor {
    char name[32]; /* "layer3.weight" */
    int dims;
    size_t shape[NN_DIMS_MAX];
    size_t offset; /* of its first number in the flat array of parameters */
    size_t count;
    bool no_decay; /* a bias, or the scale of a normalisation: no weight decay */
};

#endif
