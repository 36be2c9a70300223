/* Kernels of training on a device. */
#ifndef GW_GPU_CUDA_KERNEL_DEVICE_H
#define GW_GPU_CUDA_KERNEL_DEVICE_H

#include "gpu/base/channels.h"
#include "gpu/base/kernel.h"
#include "gpu/base/vector.h"

enum { GW_KERNEL_THREADS = 256 }; /* in a block; a power of 2 */

/* The functions that struct gw_cuda_module offers. */
extern const struct gw_kernel_device gw_kernel_device_cuda;

/* gw_kernel_device_launch enqueues the kernel on the stream (a cudaStream_t) and returns a
 * cudaError_t. It is in kernel_launch.cu; in the fakes it is in fake_kernel.c. */
#ifdef __cplusplus
extern "C"
#endif
    int
    gw_kernel_device_launch(const struct gw_kernel *kernel, void *stream);

/* These do the same; they are in vector_launch.cu, channels_launch.cu and their fakes. */
#ifdef __cplusplus
extern "C"
#endif
    int
    gw_vector_device_launch(const struct gw_vector *vector, void *stream);
#ifdef __cplusplus
extern "C"
#endif
    int
    gw_channels_device_launch(const struct gw_channels *channels, void *stream);

#endif
