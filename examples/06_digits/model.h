/* The two networks of the example. */
#ifndef GW_EXAMPLES_DIGITS_MODEL_H
#define GW_EXAMPLES_DIGITS_MODEL_H

#include "examples/nn/net.h"

/* digits_model_new returns the network of a name: "convnet", two convolutions with normalisation
 * and pooling, then a dense layer (the network of the tutorials of DDP and Apex), or "residual", 8
 * convolutions in three stages with shortcuts (after He and others, arXiv 1512.03385). The caller
 * prepares it and frees it with nn_net_free. NULL: there is no such name, or no memory. */
struct nn_net *digits_model_new(const char *name);

#endif
