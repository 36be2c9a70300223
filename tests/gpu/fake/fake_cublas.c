/* cuBLAS on the fake device: products by the BLAS of the host, later, on the stream's thread.
 * Matrices lie in device memory, and their columns are not shorter than they say; the two factors
 * are read when a product is called, as the real one does by default. */
#include "tests/gpu/fake/fake.h"

#include <cblas.h>
#include <cublas_v2.h>
#include <stdlib.h>

struct fake_cublas {
    cudaStream_t stream;
};

/* Products of one type: as many as count, with steps between their matrices. */
struct products {
    cublasOperation_t turn_a, turn_b;
    int m, n, k, lda, ldb, ldc, count, is_double;
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

static void products_run(void *arg)
{
    const struct products *p = arg;
    for (int i = 0; i < p->count; i++) {
        if (p->is_double)
            cblas_dgemm(CblasColMajor, turned(p->turn_a), turned(p->turn_b), p->m, p->n, p->k,
                        p->alpha, (const double *)fake_reach(p->a) + i * p->step_a, p->lda,
                        (const double *)fake_reach(p->b) + i * p->step_b, p->ldb, p->beta,
                        (double *)fake_reach(p->c) + i * p->step_c, p->ldc);
        else
            cblas_sgemm(CblasColMajor, turned(p->turn_a), turned(p->turn_b), p->m, p->n, p->k,
                        (float)p->alpha, (const float *)fake_reach(p->a) + i * p->step_a, p->lda,
                        (const float *)fake_reach(p->b) + i * p->step_b, p->ldb, (float)p->beta,
                        (float *)fake_reach(p->c) + i * p->step_c, p->ldc);
    }
}

/* Whether `columns` columns, of all products, lie in device memory. */
static int is_there(const void *memory, int ld, int rows, int columns, long long step,
                    const struct products *p)
{
    const size_t real = p->is_double ? sizeof(double) : sizeof(float);
    const size_t last = (size_t)(p->count - 1) * (size_t)step;
    if (ld < rows || ld < 1)
        return 0;
    return columns == 0 || rows == 0 ||
           fake_device_with(memory,
                            (last + (size_t)ld * (size_t)(columns - 1) + (size_t)rows) * real) >= 0;
}

static cublasStatus_t products_enqueue(cublasHandle_t handle, struct products p)
{
    const int a_rows = p.turn_a == CUBLAS_OP_T ? p.k : p.m, b_rows = p.turn_b ? p.n : p.k;
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.count < 0 ||
        !is_there(p.a, p.lda, a_rows, p.turn_a ? p.m : p.k, p.step_a, &p) ||
        !is_there(p.b, p.ldb, b_rows, p.turn_b ? p.k : p.n, p.step_b, &p) ||
        !is_there(p.c, p.ldc, p.m, p.n, p.step_c, &p))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct products *arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = p;
    fake_enqueue(handle->stream, products_run, arg);
    return CUBLAS_STATUS_SUCCESS;
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
                       .is_double = sizeof(real) == sizeof(double),                                \
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
