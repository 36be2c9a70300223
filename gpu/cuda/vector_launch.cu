/* The kernels of vector.h: the threads of all blocks take elements in turn. */
#include "gpu/base/vector_body.inc"
#include "gpu/cuda/kernel_device.h"

#include <cuda_runtime.h>

enum { BLOCKS_MAX = 1024 };

static __global__ void run(const struct gw_vector vector)
{
    const uint64_t first = blockIdx.x * (uint64_t)GW_KERNEL_THREADS + threadIdx.x;
    const uint64_t threads = gridDim.x * (uint64_t)GW_KERNEL_THREADS;
    if (vector.kind == GW_VECTOR_CONVERT) {
        vector_convert(&vector, first, threads);
        return;
    }
    for (uint64_t i = first; i < vector.count; i += threads)
        if (vector_is_odd(vector.from, vector.from_dtype, i))
            (void)atomicMax((long long *)vector.found, (long long)(vector_place(&vector, i)));
}

int gw_vector_device_launch(const struct gw_vector *vector, void *stream)
{
    const uint64_t wanted = (vector->count + GW_KERNEL_THREADS - 1) / GW_KERNEL_THREADS;
    if (wanted > 0)
        run<<<wanted < BLOCKS_MAX ? (unsigned)wanted : (unsigned)BLOCKS_MAX, GW_KERNEL_THREADS, 0,
              (cudaStream_t)stream>>>(*vector);
    return cudaGetLastError();
}
