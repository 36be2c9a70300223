/* The number that the layers compute in: float, or double if NN_DOUBLE is defined. The tests use
 * double, to check gradients by finite differences on the same source. */
#ifndef GW_EXAMPLES_NN_NUMBER_H
#define GW_EXAMPLES_NN_NUMBER_H

#ifdef NN_DOUBLE
typedef double nn_real;
#define NN_EXP exp
#else
typedef float nn_real;
#define NN_EXP expf
#endif

#endif
