/* Memory for kernels, and errors of CUDA as errors of Gangway. */
#include "gpu/cuda/kernel_device.h"

#include <cuda_runtime_api.h>

static int check(cudaError_t rc, const char *what, struct gw_error *error)
{
    if (rc == cudaSuccess)
        return 0;
    return gw_error_set(error, rc == cudaErrorMemoryAllocation ? GW_ENOMEM : GW_EIO,
                        "optimizer: %s: %s", what, cudaGetErrorString(rc));
}

/* The memory is that of the current device, which the communicator of the stream has set. */
static int device_alloc(void *stream, size_t bytes, void **memory, struct gw_error *error)
{
    (void)stream;
    return check(cudaMalloc(memory, bytes), "cannot allocate device memory", error);
}

static void device_free(void *stream, void *memory)
{
    if (memory) {
        (void)cudaStreamSynchronize((cudaStream_t)stream);
        (void)cudaFree(memory);
    }
}

static int device_copy(void *stream, void *to, const void *from, size_t bytes,
                       struct gw_error *error)
{
    cudaError_t rc = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)stream);
    if (rc == cudaSuccess)
        rc = cudaStreamSynchronize((cudaStream_t)stream);
    return check(rc, "cannot copy from or to the device", error);
}

static int device_run(void *stream, const struct gw_kernel *kernel, struct gw_error *error)
{
    return check((cudaError_t)gw_kernel_device_launch(kernel, stream), "cannot start a kernel",
                 error);
}

static int device_vector(void *stream, const struct gw_vector *vector, struct gw_error *error)
{
    return check((cudaError_t)gw_vector_device_launch(vector, stream), "cannot start a kernel",
                 error);
}

static int device_channels(void *stream, const struct gw_channels *channels, struct gw_error *error)
{
    return check((cudaError_t)gw_channels_device_launch(channels, stream), "cannot start a kernel",
                 error);
}

static bool device_is_capturing(void *stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    (void)cudaStreamIsCapturing((cudaStream_t)stream, &status);
    return status == cudaStreamCaptureStatusActive;
}

const struct gw_kernel_device gw_kernel_device_cuda = {.alloc = device_alloc,
                                                       .free = device_free,
                                                       .copy = device_copy,
                                                       .run = device_run,
                                                       .vector = device_vector,
                                                       .channels = device_channels,
                                                       .is_capturing = device_is_capturing};
