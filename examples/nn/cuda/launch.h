/* Kernels on a GPU. */
#ifndef GW_EXAMPLES_NN_CUDA_LAUNCH_H
#define GW_EXAMPLES_NN_CUDA_LAUNCH_H

#include "examples/nn/kernel.h"

/* nn_cuda_launch enqueues a kernel of at least one output on the stream (a cudaStream_t) and
 * returns a cudaError_t. It is in launch.cu; in the fakes it is in fake_nn.c. */
#ifdef __cplusplus
extern "C"
#endif
    int
    nn_cuda_launch(const struct nn_kernel *kernel, void *stream);

#endif
