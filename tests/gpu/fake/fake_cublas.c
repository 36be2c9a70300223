/* cuBLAS on the fake device: products by the BLAS of the host, later, on the stream's thread.
 * A handle belongs to the device that was current when it was made. Matrices lie in its memory, and
 * their columns are not shorter than they say; the two factors are read when a product is called,
 * as the real one does by default. Factors of 16 bits have one type, their product is in float, and
 * so are its sums: the real one has no other that the examples use. */
#include "tests/gpu/fake/fake.h"

#include "examples/nn/half.h"

#include <cblas.h>
#include <cublas_v2.h>
#include <stdlib.h>

struct fake_cublas {
    int device;
    cudaStream_t stream;
};

/* Products of one type: as many as count, with steps between their matrices. */
struct products {
    cublasOperation_t turn_a, turn_b;
    int m, n, k, lda, ldb, ldc, count;
    cudaDataType type; /* of the factors; products of 16 bits are in float */
    double alpha, beta;
    const void *a, *b;
    void *c;
    long long step_a, step_b, step_c;
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        abort();
    (*handle)->device = fake_device();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

static CBLAS_TRANSPOSE turned(cublasOperation_t turn)
{
    return turn == CUBLAS_OP_T ? CblasTrans : CblasNoTrans;
}

/* A factor in float, whose columns lie one behind the other. */
static float *widened(const struct products *p, const void *memory, int ld, int rows, int columns)
{
    const uint16_t *halves = memory;
    float *wide = malloc((size_t)rows * (size_t)columns * sizeof *wide + 1);
    if (!wide)
        abort();
    for (int column = 0; column < columns; column++)
        for (int row = 0; row < rows; row++) {
            const uint16_t half = halves[(ptrdiff_t)column * ld + row];
            wide[(ptrdiff_t)column * rows + row] =
                p->type == CUDA_R_16BF ? nn_half_from_bf16(half) : nn_half_from_f16(half);
        }
    return wide;
}

static void product_of_halves(const struct products *p, int i)
{
    const int a_rows = p->turn_a ? p->k : p->m, b_rows = p->turn_b ? p->n : p->k;
    float *a = widened(p, (const uint16_t *)fake_reach_own(p->a) + i * p->step_a, p->lda, a_rows,
                       p->turn_a ? p->m : p->k);
    float *b = widened(p, (const uint16_t *)fake_reach_own(p->b) + i * p->step_b, p->ldb, b_rows,
                       p->turn_b ? p->k : p->n);
    cblas_sgemm(CblasColMajor, turned(p->turn_a), turned(p->turn_b), p->m, p->n, p->k,
                (float)p->alpha, a, a_rows, b, b_rows, (float)p->beta,
                (float *)fake_reach_own(p->c) + i * p->step_c, p->ldc);
    free(a);
    free(b);
}

static void products_run(void *arg)
{
    const struct products *p = arg;
    for (int i = 0; i < p->count; i++) {
        if (p->type == CUDA_R_16BF || p->type == CUDA_R_16F)
            product_of_halves(p, i);
        else if (p->type == CUDA_R_64F)
            cblas_dgemm(CblasColMajor, turned(p->turn_a), turned(p->turn_b), p->m, p->n, p->k,
                        p->alpha, (const double *)fake_reach_own(p->a) + i * p->step_a, p->lda,
                        (const double *)fake_reach_own(p->b) + i * p->step_b, p->ldb, p->beta,
                        (double *)fake_reach_own(p->c) + i * p->step_c, p->ldc);
        else
            cblas_sgemm(CblasColMajor, turned(p->turn_a), turned(p->turn_b), p->m, p->n, p->k,
                        (float)p->alpha, (const float *)fake_reach_own(p->a) + i * p->step_a,
                        p->lda, (const float *)fake_reach_own(p->b) + i * p->step_b, p->ldb,
                        (float)p->beta, (float *)fake_reach_own(p->c) + i * p->step_c, p->ldc);
    }
}

/* Whether `columns` columns, of all products, lie in device memory. */
static int is_there(const void *memory, int ld, int rows, int columns, long long step,
                    const struct products *p, size_t real)
{
    const size_t last = (size_t)(p->count - 1) * (size_t)step;
    if (ld < rows || ld < 1 || (uintptr_t)memory % real != 0)
        return 0;
    return columns == 0 || rows == 0 ||
           fake_device_with(memory,
                            (last + (size_t)ld * (size_t)(columns - 1) + (size_t)rows) * real) >= 0;
}

static cublasStatus_t products_enqueue(cublasHandle_t handle, struct products p)
{
    const int a_rows = p.turn_a == CUBLAS_OP_T ? p.k : p.m, b_rows = p.turn_b ? p.n : p.k;
    const size_t real = p.type == CUDA_R_64F   ? sizeof(double)
                        : p.type == CUDA_R_32F ? sizeof(float)
                                               : sizeof(uint16_t);
    const size_t product = real < sizeof(float) ? sizeof(float) : real;
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.count < 0 ||
        !is_there(p.a, p.lda, a_rows, p.turn_a ? p.m : p.k, p.step_a, &p, real) ||
        !is_there(p.b, p.ldb, b_rows, p.turn_b ? p.k : p.n, p.step_b, &p, real) ||
        !is_there(p.c, p.ldc, p.m, p.n, p.step_c, &p, product))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct products *arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = p;
    if (fake_device() != handle->device) {
        free(arg);
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return fake_launch(handle->stream, products_run, arg) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

#define PRODUCTS(real, count_of, a_step, b_step, c_step)                                           \
    ((struct products){.turn_a = turn_a,                                                           \
                       .turn_b = turn_b,                                                           \
                       .m = m,                                                                     \
                       .n = n,                                                                     \
                       .k = k,                                                                     \
                       .lda = lda,                                                                 \
                       .ldb = ldb,                                                                 \
                       .ldc = ldc,                                                                 \
                       .count = count_of,                                                          \
                       .type = sizeof(real) == sizeof(double) ? CUDA_R_64F : CUDA_R_32F,           \
                       .alpha = (double)*alpha,                                                    \
                       .beta = (double)*beta,                                                      \
                       .a = a,                                                                     \
                       .b = b,                                                                     \
                       .c = c,                                                                     \
                       .step_a = a_step,                                                           \
                       .step_b = b_step,                                                           \
                       .step_c = c_step})

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t turn_a,
                           cublasOperation_t turn_b, int m, int n, int k, const float *alpha,
                           const float *a, int lda, const float *b, int ldb, const float *beta,
                           float *c, int ldc)
{
    return products_enqueue(handle, PRODUCTS(float, 1, 0, 0, 0));
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t turn_a,
                           cublasOperation_t turn_b, int m, int n, int k, const double *alpha,
                           const double *a, int lda, const double *b, int ldb, const double *beta,
                           double *c, int ldc)
{
    return products_enqueue(handle, PRODUCTS(double, 1, 0, 0, 0));
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t turn_a,
                                         cublasOperation_t turn_b, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long step_a, const float *b, int ldb,
                                         long long step_b, const float *beta, float *c, int ldc,
                                         long long step_c, int count)
{
    return products_enqueue(handle, PRODUCTS(float, count, step_a, step_b, step_c));
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t turn_a,
                                         cublasOperation_t turn_b, int m, int n, int k,
                                         const double *alpha, const double *a, int lda,
                                         long long step_a, const double *b, int ldb,
                                         long long step_b, const double *beta, double *c, int ldc,
                                         long long step_c, int count)
{
    return products_enqueue(handle, PRODUCTS(double, count, step_a, step_b, step_c));
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType a_type, int lda, long long step_a, const void *b,
    cudaDataType b_type, int ldb, long long step_b, const void *beta, void *c, cudaDataType c_type,
    int ldc, long long step_c, int count, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    const float *factors[] = {alpha, beta};
    if (a_type != b_type || (a_type != CUDA_R_16F && a_type != CUDA_R_16BF) ||
        c_type != CUDA_R_32F || compute != CUBLAS_COMPUTE_32F || algo != CUBLAS_GEMM_DEFAULT)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return products_enqueue(handle, (struct products){.turn_a = turn_a,
                                                      .turn_b = turn_b,
                                                      .m = m,
                                                      .n = n,
                                                      .k = k,
                                                      .lda = lda,
                                                      .ldb = ldb,
                                                      .ldc = ldc,
                                                      .count = count,
                                                      .type = a_type,
                                                      .alpha = (double)*factors[0],
                                                      .beta = (double)*factors[1],
                                                      .a = a,
                                                      .b = b,
                                                      .c = c,
                                                      .step_a = step_a,
                                                      .step_b = step_b,
                                                      .step_c = step_c});
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a,
                            cublasOperation_t turn_b, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType a_type, int lda, const void *b,
                            cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(handle, turn_a, turn_b, m, n, k, alpha, a, a_type, lda, 0, b,
                                      b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute, algo);
}
