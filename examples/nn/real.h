/* The number that the layers compute in: float, or double if NN_DOUBLE is defined. The tests use
 * double, to check gradients by finite differences on the same source. */
#ifndef GW_EXAMPLES_NN_REAL_H
#define GW_EXAMPLES_NN_REAL_H

#include <cblas.h>

#ifdef NN_DOUBLE
typedef double nn_real;
#define nn_gemm cblas_dgemm
#else
typedef float nn_real;
#define nn_gemm cblas_sgemm
#endif

#endif
