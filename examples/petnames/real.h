/* The number that the model computes in: that of examples/nn, which is double where NN_DOUBLE is
 * defined. The test does so to check gradients by finite differences on the very same source. */
#ifndef GW_EXAMPLES_PETNAMES_REAL_H
#define GW_EXAMPLES_PETNAMES_REAL_H

#include "examples/nn/real.h"

typedef nn_real pet_real;
#define pet_gemm nn_gemm

#endif
