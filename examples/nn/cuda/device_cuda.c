/* The GPU behind nn_device, by CUDA's runtime and cuBLAS. For products of 16 bits the factors are
 * rounded into memory of the device, which grows with the largest factor. */
#include "examples/nn/cuda/launch.h"
#include "examples/nn/device.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>

struct cuda_device {
    struct nn_device base;
    cublasHandle_t blas;
    struct {
        void *memory;
        size_t bytes;
    } rounded[2]; /* the factors of a product */
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

/* A matrix in memory: `count` of them, with so many rows and numbers in a row. */
struct matrix {
    const nn_real *numbers;
    int rows, columns, row;
    int count;
    size_t step;
};

/* Rounds a factor to 16 bits, in the same layout. Returns NULL if that failed. */
static const void *rounded(struct cuda_device *self, int which, struct matrix matrix)
{
    struct nn_device *device = &self->base;
    const size_t last = (size_t)(matrix.count - 1) * matrix.step;
    const size_t numbers =
        last + (size_t)(matrix.rows - 1) * (size_t)matrix.row + (size_t)matrix.columns;
    if (self->rounded[which].bytes < numbers * sizeof(uint16_t)) {
        if (self->rounded[which].memory)
            cuda_release(device, self->rounded[which].memory);
        self->rounded[which].memory = cuda_alloc(device, numbers * sizeof(uint16_t));
        self->rounded[which].bytes = numbers * sizeof(uint16_t);
    }
    const struct nn_kernel kernel = {
        .kind = NN_KERNEL_NARROW,
        .count = numbers,
        .at = {(nn_real *)(uintptr_t)matrix.numbers, self->rounded[which].memory},
        .n = {device->precision == NN_BF16}};
    return self->rounded[which].memory &&
                   check(device, (cudaError_t)nn_cuda_launch(&kernel, device->stream), "round")
               ? self->rounded[which].memory
               : NULL;
}

/* A product of factors of 16 bits; see cuda_product. */
static void product_of_halves(struct cuda_device *self, const struct nn_product *p, int count)
{
    const cublasOperation_t turn_a = p->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t turn_b = p->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cudaDataType type = self->base.precision == NN_BF16 ? CUDA_R_16BF : CUDA_R_16F;
    const float one = 1, beta = (float)p->beta;
    const void *a = rounded(self, 0,
                            (struct matrix){p->a, p->a_turned ? p->k : p->m,
                                            p->a_turned ? p->m : p->k, p->row_a, count, p->step_a});
    const void *b = rounded(self, 1,
                            (struct matrix){p->b, p->b_turned ? p->n : p->k,
                                            p->b_turned ? p->k : p->n, p->row_b, count, p->step_b});
    if (!a || !b)
        return;
    if (count > 1)
        check_blas(&self->base,
                   cublasGemmStridedBatchedEx(self->blas, turn_b, turn_a, p->n, p->m, p->k, &one, b,
                                              type, p->row_b, (long long)p->step_b, a, type,
                                              p->row_a, (long long)p->step_a, &beta, p->c,
                                              CUDA_R_32F, p->row_c, (long long)p->step_c, count,
                                              CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   "products of 16 bits");
    else
        check_blas(&self->base,
                   cublasGemmEx(self->blas, turn_b, turn_a, p->n, p->m, p->k, &one, b, type,
                                p->row_b, a, type, p->row_a, &beta, p->c, CUDA_R_32F, p->row_c,
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   "product of 16 bits");
}

/* cuBLAS has matrices by columns. A matrix by rows is its transpose by columns, so this computes
 * the transposes: C' = B' A'. */
static void cuda_product(struct nn_device *device, const struct nn_product *p)
{
    struct cuda_device *self = (struct cuda_device *)device;
    const cublasOperation_t turn_a = p->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t turn_b = p->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    const nn_real one = 1;
    if (device->precision != NN_F32 && sizeof(nn_real) == sizeof(float) && p->k > 0)
        product_of_halves(self, p, p->count > 1 ? p->count : 1);
    else if (p->count > 1)
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
    for (int i = 0; i < 2; i++)
        if (self->rounded[i].memory)
            cuda_release(device, self->rounded[i].memory);
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
    if (check(base, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream")) {
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
