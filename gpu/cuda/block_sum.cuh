/* Sums over the threads of a block. */
#ifndef GW_GPU_CUDA_BLOCK_SUM_CUH
#define GW_GPU_CUDA_BLOCK_SUM_CUH

#include "gpu/cuda/kernel_device.h"

#include <cuda_runtime.h>

/* block_sum returns the sum over all threads of the block to thread 0, always added in the same
 * order. All threads call it. */
static __device__ inline double block_sum(double value)
{
    __shared__ double sums[GW_KERNEL_THREADS];
    __syncthreads(); /* thread 0 may still read the sum before */
    sums[threadIdx.x] = value;
    for (unsigned half = GW_KERNEL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

#endif
