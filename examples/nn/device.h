/* The GPU of a rank: its memory, matrix products by cuBLAS and the kernels of kernel.h, on one
 * stream. All of it is in libnn-cuda.so, which nn_device_open loads, so a program starts also where
 * there is no GPU.
 *
 * Calls are enqueued and return at once. The first failure stays: later calls do nothing, and
 * nn_device_wait reports it. One thread uses a device at a time. */
#ifndef GW_EXAMPLES_NN_DEVICE_H
#define GW_EXAMPLES_NN_DEVICE_H

#include "examples/nn/kernel.h"
#include "examples/nn/number.h"

#include <gangway/comm.h>
#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct nn_device;

/* The type of the factors in products of a device. With 16 bits the factors are rounded, and the
 * sums are in float: so tensor cores compute them. */
enum nn_precision {
    NN_F32, /* the numbers as they are */
    NN_BF16,
    NN_F16,
};

/* nn_precision_read reads "f32", "bf16" or "f16". GW_EINVAL: another name. */
int nn_precision_read(const char *name, enum nn_precision *precision, struct gw_error *error);

/* C = A B + beta C, in row-major matrices: C is m x n, A is m x k (k x m if a_turned), B is k x n
 * (n x k if b_turned). The next numbers are those in a row of each matrix. With `count` above 1
 * there are so many products, whose matrices begin step_a, step_b, step_c numbers after one
 * another. */
struct nn_product {
    bool a_turned, b_turned;
    int m, n, k;
    const nn_real *a, *b;
    nn_real *c;
    int row_a, row_b, row_c;
    nn_real beta;
    int count;
    size_t step_a, step_b, step_c;
};

/* Functions of libnn-cuda.so; the functions below call them. */
struct nn_device_kind {
    size_t real_bytes; /* of its nn_real */
    void *(*alloc)(struct nn_device *device, size_t bytes);
    void (*release)(struct nn_device *device, void *memory);
    void (*copy)(struct nn_device *device, void *to, const void *from, size_t bytes);
    void (*zero)(struct nn_device *device, void *memory, size_t bytes);
    void (*product)(struct nn_device *device, const struct nn_product *product);
    void (*run)(struct nn_device *device, const struct nn_kernel *kernel);
    void (*wait)(struct nn_device *device);
    void (*close)(struct nn_device *device);
};

struct nn_device {
    const struct nn_device_kind *kind;
    void *stream;                /* a cudaStream_t, for gw_ddp and gw_optimizer */
    enum nn_precision precision; /* of products; the caller may change it */
    struct gw_error error;       /* the first failure; its code is 0 if there is none */
};

/* nn_device_open opens the current GPU of this thread, which is that of comm. It is collective over
 * the ranks of comm: if a rank cannot, all ranks return its code, and the text names the rank and
 * says why: GW_ENOTSUP (no GPU, no module, or comm does not reach GPUs). The caller closes the
 * device with nn_device_close after its memory was released; NULL is allowed. */
int nn_device_open(struct gw_comm *comm, struct nn_device **device, struct gw_error *error);
void nn_device_close(struct nn_device *device);

/* nn_device_alloc returns memory of the device with zeros, or NULL: the failure stays in the
 * device. nn_device_release accepts NULL. */
void *nn_device_alloc(struct nn_device *device, size_t bytes);
void nn_device_release(struct nn_device *device, void *memory);

/* nn_device_copy copies between host and device, in any direction. Host memory must not change, or
 * be read, before nn_device_wait. */
void nn_device_copy(struct nn_device *device, void *to, const void *from, size_t bytes);
void nn_device_zero(struct nn_device *device, void *memory, size_t bytes);
void nn_device_product(struct nn_device *device, const struct nn_product *product);

/* nn_device_run starts a kernel with at least one output, or does nothing if it has none. */
void nn_device_run(struct nn_device *device, const struct nn_kernel *kernel);
#define NN_DEVICE_RUN(device, ...) nn_device_run(device, &(const struct nn_kernel){__VA_ARGS__})

/* nn_device_wait waits until all is done, and returns 0 or the first failure. */
int nn_device_wait(struct nn_device *device, struct gw_error *error);

/* The only function that libnn-cuda.so exports: opens the GPU, on this rank alone. */
int nn_cuda_open(struct nn_device **device, struct gw_error *error);

#endif
