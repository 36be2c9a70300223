/* The table of functions that libgangway-cuda.so offers to libgangway. */
#include "gpu/cuda/module.h"

#include "gpu/cuda/kernel_device.h"
#include "gpu/cuda/nccl_comm.h"

#include <gangway/version.h>

const struct gw_cuda_module *gw_cuda_module(void)
{
    static const struct gw_cuda_module module = {
        .version = GANGWAY_VERSION,
        .device_check = gw_nccl_comm_device_check,
        .comm_open = gw_nccl_comm_open,
        .kernels = &gw_kernel_device_cuda,
        .side_copy = &gw_side_copy_cuda,
    };
    return &module;
}
