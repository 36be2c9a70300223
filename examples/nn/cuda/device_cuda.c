/* The GPU behind nn_device, by CUDA's runtime and cuBLAS. */
#include "examples/nn/cuda/launch.h"
#include "examples/nn/device.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>

struct cuda_device {
    struct nn_device base;
    cublasHandle_t blas;
};

#ifdef NN_DOUBLE
#define GEMM cublasDgemm
#define GEMM_STEPS cublasDgemmStridedBatched
#else
#define GEMM cublasSgemm
#define GEMM_STEPS cublasSgemmStridedBatched
#endif

/* Keeps the first failure of CUDA. */
static bool check(struct nn_device *device, cudaError_t rc, const char *what)
{
    if (rc != cudaSuccess && device->error.code == 0)
        (void)gw_error_set(&device->error, rc == cudaErrorMemoryAllocation ? GW_ENOMEM : GW_EDEVICE,
                           "the GPU: %s: %s", what, cudaGetErrorString(rc));
    return rc == cudaSuccess;
}

static void check_blas(struct nn_device *device, cublasStatus_t rc, const char *what)
{
    if (rc != CUBLAS_STATUS_SUCCESS && device->error.code == 0)
        (void)gw_error_set(&device->error, GW_EDEVICE, "cuBLAS: %s: error %d", what, (int)rc);
}

static cudaStream_t stream_of(const struct nn_device *device)
{
    return (cudaStream_t)device->stream;
}

static void *cuda_alloc(struct nn_device *device, size_t bytes)
{
    void *memory = NULL;
    return check(device, cudaMalloc(&memory, bytes > 0 ? bytes : 1), "allocate") ? memory : NULL;
}

static void cuda_release(struct nn_device *device, void *memory)
{
    (void)cudaStreamSynchronize(stream_of(device)); /* work may use it */
    (void)cudaFree(memory);
}

static void cuda_copy(struct nn_device *device, void *to, const void *from, size_t bytes)
{
    (void)check(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(device)),
                "copy");
}

static void cuda_zero(struct nn_device *device, void *memory, size_t bytes)
{
    (void)check(device, cudaMemsetAsync(memory, 0, bytes, stream_of(device)), "zero");
}

/* cuBLAS has matrices by columns. A matrix by rows is its transpose by columns, so this computes
 * the transposes: C' = B' A'. */
static void cuda_product(struct nn_device *device, const struct nn_product *p)
{
    struct cuda_device *self = (struct cuda_device *)device;
    const cublasOperation_t turn_a = p->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t turn_b = p->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const nn_real one = 1;
    if (p->count > 1)
        check_blas(device,
                   GEMM_STEPS(self->blas, turn_b, turn_a, p->n, p->m, p->k, &one, p->b, p->row_b,
                              (long long)p->step_b, p->a, p->row_a, (long long)p->step_a, &p->beta,
                              p->c, p->row_c, (long long)p->step_c, p->count),
                   "products");
    else
        check_blas(device,
                   GEMM(self->blas, turn_b, turn_a, p->n, p->m, p->k, &one, p->b, p->row_b, p->a,
                        p->row_a, &p->beta, p->c, p->row_c),
                   "product");
}

static void cuda_run(struct nn_device *device, const struct nn_kernel *kernel)
{
    (void)check(device, (cudaError_t)nn_cuda_launch(kernel, device->stream), "start a kernel");
}

static void cuda_wait(struct nn_device *device)
{
    (void)check(device, cudaStreamSynchronize(stream_of(device)), "compute");
}

static void cuda_close(struct nn_device *device)
{
    struct cuda_device *self = (struct cuda_device *)device;
    if (self->blas)
        (void)cublasDestroy(self->blas);
    if (device->stream)
        (void)cudaStreamDestroy(stream_of(device));
    free(self);
}

static const struct nn_device_kind cuda_kind = {
    .real_bytes = sizeof(nn_real),
    .alloc = cuda_alloc,
    .release = cuda_release,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .product = cuda_product,
    .run = cuda_run,
    .wait = cuda_wait,
    .close = cuda_close,
};

__attribute__((visibility("default"))) int nn_cuda_open(struct nn_device **device,
                                                        struct gw_error *error)
{
    int devices = 0;
    cudaStream_t stream = NULL;
    const cudaError_t rc = cudaGetDeviceCount(&devices);
    if (rc != cudaSuccess || devices == 0)
        return gw_error_set(error, GW_ENOTSUP, "no GPU: %s", cudaGetErrorString(rc));
    struct cuda_device *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "no memory for a device");
    struct nn_device *base = &self->base;
    base->kind = &cuda_kind;
    if (check(base, cudaSetDevice(0), "open") &&
        check(base, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream")) {
        base->stream = stream;
        check_blas(base, cublasCreate(&self->blas), "open");
        if (self->blas)
            check_blas(base, cublasSetStream(self->blas, stream), "a stream");
    }
    if (base->error.code < 0) {
        const int code = gw_error_set(error, base->error.code, "%s", base->error.text);
        cuda_close(base);
        return code;
    }
    *device = base;
    return 0;
}
