/* As much of cuBLAS as examples/nn uses, declared for the fake (fake_cublas.c). Values are those of
 * the real one. */
#ifndef GW_TESTS_FAKE_CUBLAS_V2_H
#define GW_TESTS_FAKE_CUBLAS_V2_H

#include <cuda_runtime_api.h>

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType;
typedef enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;
typedef struct fake_cublas *cublasHandle_t;

cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t turn_a,
                           cublasOperation_t turn_b, int m, int n, int k, const float *alpha,
                           const float *a, int lda, const float *b, int ldb, const float *beta,
                           float *c, int ldc);
cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t turn_a,
                           cublasOperation_t turn_b, int m, int n, int k, const double *alpha,
                           const double *a, int lda, const double *b, int ldb, const double *beta,
                           double *c, int ldc);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t turn_a,
                                         cublasOperation_t turn_b, int m, int n, int k,
                                         const float *alpha, const float *a, int lda,
                                         long long step_a, const float *b, int ldb,
                                         long long step_b, const float *beta, float *c, int ldc,
                                         long long step_c, int count);
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t turn_a,
                                         cublasOperation_t turn_b, int m, int n, int k,
                                         const double *alpha, const double *a, int lda,
                                         long long step_a, const double *b, int ldb,
                                         long long step_b, const double *beta, double *c, int ldc,
                                         long long step_c, int count);

/* With alpha and beta in float. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a,
                            cublasOperation_t turn_b, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType a_type, int lda, const void *b,
                            cudaDataType b_type, int ldb, const void *beta, void *c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType a_type, int lda, long long step_a, const void *b,
    cudaDataType b_type, int ldb, long long step_b, const void *beta, void *c, cudaDataType c_type,
    int ldc, long long step_c, int count, cublasComputeType_t compute, cublasGemmAlgo_t algo);

#endif
