/* Kernels in blocks of threads: an element for each thread, or a sum for each block. Parts of a sum
 * are added in a fixed order. */
#include "examples/nn/kernel_body.inc"

#include "examples/nn/cuda/launch.h"
#include <cuda_runtime.h>

static __global__ void elements(const struct nn_kernel kernel)
{
    const uint64_t i = (uint64_t)blockIdx.x * NN_KERNEL_THREADS + threadIdx.x;
    if (i < kernel.count)
        element_run(&kernel, i);
}

static __global__ void sums(const struct nn_kernel kernel)
{
    __shared__ double parts[2][NN_KERNEL_THREADS];
    double own[2] = {0, 0};
    sum_part(&kernel, blockIdx.x, threadIdx.x, own);
    parts[0][threadIdx.x] = own[0];
    parts[1][threadIdx.x] = own[1];
    for (unsigned half = NN_KERNEL_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            for (int which = 0; which < 2; which++)
                parts[which][threadIdx.x] += parts[which][threadIdx.x + half];
    }
    if (threadIdx.x == 0) {
        const double both[2] = {parts[0][0], parts[1][0]};
        sum_end(&kernel, blockIdx.x, both);
    }
}

int nn_cuda_launch(const struct nn_kernel *kernel, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    const unsigned blocks =
        (unsigned)((kernel->count + NN_KERNEL_THREADS - 1) / NN_KERNEL_THREADS);
    if (nn_kernel_sums(kernel->kind))
        sums<<<(unsigned)kernel->count, NN_KERNEL_THREADS, 0, on>>>(*kernel);
    else
        elements<<<blocks, NN_KERNEL_THREADS, 0, on>>>(*kernel);
    return cudaGetLastError();
}
