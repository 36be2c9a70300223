/* The number of the layers, and its matrix product on the CPU. */
#ifndef GW_EXAMPLES_NN_REAL_H
#define GW_EXAMPLES_NN_REAL_H

#include "examples/nn/number.h"

#include <cblas.h>

#ifdef NN_DOUBLE
#define nn_gemm cblas_dgemm
#else
#define nn_gemm cblas_sgemm
#endif

#endif
