/* The number that the model computes in: float, and double where PET_DOUBLE is defined, which the
 * test does to check gradients by finite differences on the very same source. */
#ifndef GW_EXAMPLES_PETNAMES_REAL_H
#define GW_EXAMPLES_PETNAMES_REAL_H

#include <cblas.h>

#ifdef PET_DOUBLE
typedef double pet_real;
#define pet_gemm cblas_dgemm
#else
typedef float pet_real;
#define pet_gemm cblas_sgemm
#endif

#endif
