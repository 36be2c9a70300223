/* Kernels in blocks of threads. A piece has a block, and the threads of a block take elements in
 * turn, so that a block reads memory in one piece. Sums are added in a fixed order: the result is
 * the same in every run. */
#include "gpu/base/kernel_body.inc"
#include "gpu/cuda/block_sum.cuh"
#include "gpu/cuda/kernel_device.h"

static __global__ void pieces(const struct gw_kernel kernel)
{
    const struct gw_kernel_range range = {threadIdx.x, GW_KERNEL_THREADS};
    struct gw_kernel_squares sums = {0, 0, 0};
    kernel_piece(&kernel, blockIdx.x, range, &sums);
    if (kernel.kind != GW_KERNEL_SQUARES && kernel.kind != GW_KERNEL_MOMENTS)
        return;
    const double gradient = block_sum(sums.gradient);
    const double weight = block_sum(sums.weight);
    const double direction = block_sum(sums.direction);
    if (threadIdx.x == 0)
        kernel_squares_set(&kernel, blockIdx.x, gradient, weight, direction);
}

static __global__ void total(const struct gw_kernel kernel)
{
    const struct gw_kernel_range range = {threadIdx.x, GW_KERNEL_THREADS};
    const double squares = block_sum(kernel_total(&kernel, range));
    if (threadIdx.x == 0)
        kernel.scalars->squares = squares;
}

static __global__ void once(const struct gw_kernel kernel)
{
    kernel_once(&kernel);
}

static __global__ void ratios(const struct gw_kernel kernel)
{
    const uint32_t tensor = blockIdx.x * GW_KERNEL_THREADS + threadIdx.x;
    if (tensor < kernel.tensors_count)
        kernel_ratio(&kernel, tensor);
}

int gw_kernel_device_launch(const struct gw_kernel *kernel, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    const int is_once = kernel->kind == GW_KERNEL_RATE || kernel->kind == GW_KERNEL_BEGIN;
    if (kernel->pieces_count == 0 && !is_once)
        return cudaSuccess;
    switch (kernel->kind) {
    case GW_KERNEL_TOTAL: total<<<1, GW_KERNEL_THREADS, 0, on>>>(*kernel); break;
    case GW_KERNEL_CLIP:
    case GW_KERNEL_RATE:
    case GW_KERNEL_BEGIN: once<<<1, 1, 0, on>>>(*kernel); break;
    case GW_KERNEL_RATIOS:
        ratios<<<kernel->tensors_count / GW_KERNEL_THREADS + 1, GW_KERNEL_THREADS, 0, on>>>(
            *kernel);
        break;
    default: pieces<<<kernel->pieces_count, GW_KERNEL_THREADS, 0, on>>>(*kernel);
    }
    return cudaGetLastError();
}
