#include "tests/gpu/trap.h"

#include <cuda_runtime.h>

static __global__ void trap(void)
{
    __trap();
}

void test_trap(void *stream)
{
    trap<<<1, 1, 0, (cudaStream_t)stream>>>();
}
