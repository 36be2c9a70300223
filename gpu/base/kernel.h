/* The arithmetic of training, as kernels: loops over the elements of all tensors of an optimizer.
 * One source serves the host and devices. A kernel works on pieces of tensors, which are
 * independent of each other. On the host one thread does one piece after the other, in
 * kernel.c. On a device each piece has a block of threads.
 *
 * What always holds: gradients are read only. If a tensor has a 16-bit type, the arithmetic is in
 * float on its master (a copy in float), and the parameter is the rounded master. Sums of squares
 * are in double, so an element that is not finite always shows in them. */
#ifndef GW_GPU_BASE_KERNEL_H
#define GW_GPU_BASE_KERNEL_H

#include <gangway/dtype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GW_KERNEL_PIECE = 16384, /* most elements of a piece */
};

enum gw_kernel_kind {
    GW_KERNEL_SQUARES, /* per piece: the squares of gradients, and of weights if adaptive */
    GW_KERNEL_TOTAL,   /* once: squares.gradient of all pieces -> scalars.squares */
    GW_KERNEL_CLIP,    /* once: scalars.squares -> scalars.clip */
    GW_KERNEL_RATE,    /* once: step.lr -> scalars.lr */
    GW_KERNEL_BEGIN,   /* once: counts a step; its coefficients -> scalars */
    GW_KERNEL_MOMENTS, /* per piece, LAMB: both moments, and the squares of the direction */
    GW_KERNEL_RATIOS,  /* per tensor: squares -> its ratio */
    GW_KERNEL_STEP,    /* per piece: the parameters; all moments except those of LAMB */
    GW_KERNEL_READ,    /* per piece: 16-bit parameters -> masters */
    GW_KERNEL_WRITE,   /* per piece: masters -> 16-bit parameters */
};

/* Sums of squares of a piece. */
struct gw_kernel_squares {
    double gradient, weight, direction;
};

struct gw_kernel_tensor {
    void *data;
    const void *gradient;
    void *master; /* real numbers; `data` itself if the type is not of 16 bits */
    void *m, *v;  /* real numbers; NULL: none */
    uint64_t count;
    double decay; /* weight decay */
    uint32_t dtype;
    uint32_t adapts; /* 1: LARS and LAMB scale the step of this tensor */
    uint32_t piece, pieces;
};

struct gw_kernel_piece {
    uint64_t first, end; /* elements */
    uint64_t tensor;
};

/* Numbers that kernels leave for later kernels. A number that changes from step to step is here and
 * not in the arguments of a launch, because a CUDA graph repeats a launch with the same arguments.
 */
struct gw_kernel_scalars {
    double squares; /* of all gradients as they are in memory */
    double clip;    /* the factor of gw_clip_norm; used if step.clips */
    double lr;
    double unbias1, unbias2; /* 1 - beta1^t, 1 - beta2^t */
};

/* The coefficients of a step, in double. */
struct gw_kernel_step {
    int kind; /* enum gw_optimizer_kind */
    int nesterov;
    int first; /* from the scalars. 1: the momentum buffer has no content yet */
    int trust_clips;
    int clips;     /* 1: gradients are also multiplied by scalars.clip */
    double factor; /* each gradient is multiplied by it when it is read */
    double lr;     /* from the scalars, except for GW_KERNEL_RATE */
    double momentum, dampening;
    double beta1, beta2, eps;
    double unbias1, unbias2; /* from the scalars */
    double trust;            /* LARS */
};

/* One launch. All pointers are to memory of the same device, or all to host memory. */
struct gw_kernel {
    enum gw_kernel_kind kind;
    uint32_t tensors_count, pieces_count;
    struct gw_kernel_tensor *tensors;  /* [tensors_count] */
    struct gw_kernel_piece *pieces;    /* [pieces_count] */
    struct gw_kernel_squares *squares; /* [pieces_count] */
    double *ratios;                    /* [tensors_count] */
    struct gw_kernel_scalars *scalars;
    uint64_t *steps; /* t; it lies in the state of the optimizer, which checkpoints save */
    struct gw_kernel_step step;
    double norm_max; /* GW_KERNEL_CLIP */
};

/* gw_kernel_run runs a kernel on host memory in the calling thread. */
void gw_kernel_run(const struct gw_kernel *kernel);

struct gw_vector;
struct gw_channels;

/* Kernels on a device: what libgangway-cuda.so offers. A stream is a cudaStream_t. */
struct gw_kernel_device {
    /* Allocates memory of the stream's device. free waits for the work on the stream; NULL is
     * allowed. */
    int (*alloc)(void *stream, size_t bytes, void **memory, struct gw_error *error);
    void (*free)(void *stream, void *memory);
    /* Copies between host and device after the work on the stream, and waits for it. */
    int (*copy)(void *stream, void *to, const void *from, size_t bytes, struct gw_error *error);
    /* Enqueue a kernel on the stream. */
    int (*run)(void *stream, const struct gw_kernel *kernel, struct gw_error *error);
    int (*vector)(void *stream, const struct gw_vector *vector, struct gw_error *error);
    int (*channels)(void *stream, const struct gw_channels *channels, struct gw_error *error);
    /* Returns true if work on the stream goes into a CUDA graph and does not run now. */
    bool (*is_capturing)(void *stream);
};

#endif
