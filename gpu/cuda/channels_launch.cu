/* The kernels of channels.h: a block of threads for each channel. */
#include "gpu/base/channels_body.inc"
#include "gpu/cuda/block_sum.cuh"
#include "gpu/cuda/kernel_device.h"

static __global__ void run(const struct gw_channels channels)
{
    const struct gw_kernel_range range = {threadIdx.x, GW_KERNEL_THREADS};
    const struct gw_channels_pair mine = channels_body(&channels, blockIdx.x, range);
    if (!channels_has_sums(&channels))
        return;
    struct gw_channels_pair sums;
    sums.first = block_sum(mine.first);
    sums.second = block_sum(mine.second);
    if (threadIdx.x == 0)
        channels_sums_set(&channels, blockIdx.x, sums);
}

int gw_channels_device_launch(const struct gw_channels *channels, void *stream)
{
    run<<<(unsigned)channels->channels, GW_KERNEL_THREADS, 0, (cudaStream_t)stream>>>(*channels);
    return cudaGetLastError();
}
