/* Copies on a stream of their own. The copies wait for an event in the stream of the program, and
 * the stream of the program can wait for an event behind the copies. */
#include "gpu/base/side_copy.h"
#include "gpu/cuda/module.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

struct gw_side_copy {
    int device;
    cudaStream_t stream, side;
    cudaEvent_t before, after;
    void *memory; /* pinned */
    size_t bytes;
};

static int check(cudaError_t rc, const char *what, struct gw_error *error)
{
    if (rc == cudaSuccess)
        return 0;
    return gw_error_set(error, rc == cudaErrorMemoryAllocation ? GW_ENOMEM : GW_EIO, "%s: %s", what,
                        cudaGetErrorString(rc));
}

static void side_close(struct gw_side_copy *side)
{
    if (!side)
        return;
    if (side->side) {
        (void)cudaStreamSynchronize(side->side);
        (void)cudaStreamDestroy(side->side);
    }
    if (side->before)
        (void)cudaEventDestroy(side->before);
    if (side->after)
        (void)cudaEventDestroy(side->after);
    (void)cudaFreeHost(side->memory);
    free(side);
}

static int side_open(void *stream, struct gw_side_copy **side, struct gw_error *error)
{
    struct gw_side_copy *made = calloc(1, sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    made->stream = (cudaStream_t)stream;
    cudaError_t rc = cudaGetDevice(&made->device);
    if (rc == cudaSuccess)
        rc = cudaStreamCreateWithFlags(&made->side, cudaStreamNonBlocking);
    if (rc == cudaSuccess)
        rc = cudaEventCreateWithFlags(&made->before, cudaEventDisableTiming);
    if (rc == cudaSuccess)
        rc = cudaEventCreateWithFlags(&made->after, cudaEventDisableTiming);
    if (rc != cudaSuccess) {
        side_close(made);
        return check(rc, "cannot make a stream on the GPU", error);
    }
    *side = made;
    return 0;
}

static int side_reserve(struct gw_side_copy *side, size_t bytes, void **memory,
                        struct gw_error *error)
{
    if (bytes > side->bytes) {
        (void)cudaFreeHost(side->memory);
        side->memory = NULL;
        side->bytes = 0;
        const cudaError_t rc = cudaHostAlloc(&side->memory, bytes, cudaHostAllocDefault);
        if (rc != cudaSuccess) {
            (void)cudaGetLastError();
            side->memory = NULL;
            return check(rc, "cannot allocate pinned memory", error);
        }
        side->bytes = bytes;
    }
    *memory = side->memory;
    return 0;
}

static bool is_on_device(const char *at)
{
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, at) == cudaSuccess)
        return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
    (void)cudaGetLastError(); /* CUDA does not know this memory: clear the error */
    return false;
}

static bool side_reaches(const struct gw_side_copy *side, const void *memory, size_t bytes)
{
    const char *first = memory;
    (void)side;
    return is_on_device(first) && is_on_device(first + bytes - 1);
}

static int side_begin(struct gw_side_copy *side, struct gw_error *error)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaError_t rc = cudaStreamIsCapturing(side->stream, &status);
    if (rc == cudaSuccess && status != cudaStreamCaptureStatusNone)
        return gw_error_set(error, GW_EINVAL,
                            "the stream is being captured: save between the launches of the graph");
    if (rc == cudaSuccess)
        rc = cudaEventRecord(side->before, side->stream);
    if (rc == cudaSuccess)
        rc = cudaStreamWaitEvent(side->side, side->before, 0);
    return check(rc, "cannot follow the stream", error);
}

/* Without the relaxed mode, calls of this thread could end a capture of another one. */
static cudaError_t thread_enter(const struct gw_side_copy *side)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    const cudaError_t rc = cudaThreadExchangeStreamCaptureMode(&mode);
    return rc == cudaSuccess ? cudaSetDevice(side->device) : rc;
}

static int side_run(struct gw_side_copy *side, const struct gw_side_copy_item *items, size_t count,
                    struct gw_error *error)
{
    cudaError_t rc = thread_enter(side);
    for (size_t i = 0; i < count && rc == cudaSuccess; i++)
        rc = cudaMemcpyAsync(items[i].to, items[i].from, items[i].bytes, cudaMemcpyDefault,
                             side->side);
    if (rc == cudaSuccess)
        rc = cudaEventRecord(side->after, side->side);
    return check(rc, "cannot copy from the GPU", error);
}

static int side_follow(struct gw_side_copy *side, struct gw_error *error)
{
    return check(cudaStreamWaitEvent(side->stream, side->after, 0), "cannot follow the copies",
                 error);
}

static int side_wait(struct gw_side_copy *side, struct gw_error *error)
{
    cudaError_t rc = thread_enter(side);
    if (rc == cudaSuccess)
        rc = cudaStreamSynchronize(side->side);
    return check(rc, "cannot copy from the GPU", error);
}

const struct gw_side_copy_device gw_side_copy_cuda = {.open = side_open,
                                                      .close = side_close,
                                                      .reserve = side_reserve,
                                                      .reaches = side_reaches,
                                                      .begin = side_begin,
                                                      .run = side_run,
                                                      .follow = side_follow,
                                                      .wait = side_wait};
