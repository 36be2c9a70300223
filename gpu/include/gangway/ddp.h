/* Data-parallel training. Every rank holds the same parameters and computes gradients on its own
 * samples. The optimizers of all ranks use the mean of the gradients over all ranks.
 *
 * Gradients are stored in buckets that the communicator allocated. A bucket is reduced as soon as
 * backward has filled it. With a stream (on a backend that has streams) the reduction runs on the
 * communicator's own stream, in parallel with the rest of backward. Without a stream, a
 * communicator across hosts reduces in a thread of its own, in parallel with the rest of backward;
 * on one host gw_ddp_ready reduces.
 *
 * The rules are those of PyTorch (torch/csrc/distributed/c10d/reducer.cpp). Buckets are filled in
 * reverse order of the parameters. A bucket holds one element type. The first bucket of a type is
 * closed when it reaches 1 MiB, later ones at 25 MiB. Buckets are reduced in the order of their
 * index, even if they become complete in another order. Each gradient is divided by the number of
 * ranks, then summed.
 *
 *     gw_ddp_open(...);                       gradient[i] = gw_ddp_gradient(ddp, i);
 *     each step:   gw_ddp_zero(ddp);
 *                  gw_ddp_begin(ddp, true, &error);
 *                  backward: add into gradient[i], then gw_ddp_ready(ddp, i, &error), last first
 *                  gw_ddp_finish(ddp, &error);
 *                  gw_optimizer_step(optimizer, &error);
 *
 * To accumulate gradients over several micro-steps, call gw_ddp_begin(ddp, false) for all of them
 * but the last. Gradients are then added locally and reduced in the last micro-step.
 *
 * With a stream, a whole step can be captured in a CUDA graph and replayed, from gw_ddp_zero to
 * gw_ddp_finish and the optimizer. Before the capture, run one step without it. Each reduction in a
 * replay has the timeout that the communicator had at the capture, counted from the moment when the
 * device comes to it. If it is late, the communicator breaks, the next operation returns
 * GW_ETIMEDOUT, and the graph must not be launched again. Between launches gw_optimizer_set_lr
 * changes the learning rate. Destroy the graph before the communicator is closed.
 *
 * One thread of each rank calls the functions of this header. All ranks must call them in the same
 * order, except gw_ddp_gradient, gw_ddp_zero and gw_ddp_ready. Errors of the communicator are
 * returned to the caller, and they break the communicator (see comm.h). GW_EINVAL means that calls
 * came in a wrong order; such a call has changed nothing. */
#ifndef GANGWAY_DDP_H
#define GANGWAY_DDP_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_ddp;

enum {
    GW_DDP_DIMS_MAX = 8,
    GW_DDP_NAME_MAX = 64, /* most bytes of a parameter's name in an error message, with the
                             terminating NUL; a longer name is cut */
    GW_DDP_FIRST_BUCKET_BYTES = 1 << 20,
    GW_DDP_BUCKET_BYTES = 25 << 20,
};

/* One parameter tensor. This struct never gets another field, because it is used in arrays. Its
 * number of elements is the product of shape[0] to shape[dims-1], and must be at least 1. */
struct gw_ddp_param {
    const char *name;    /* used in error messages; may be NULL */
    void *data;          /* the values of the parameter, in row-major order; borrowed.
                            gw_ddp_broadcast changes them */
    enum gw_dtype dtype; /* F32, F64, BF16 or F16; the gradient has the same type */
    int dims;            /* 1 to GW_DDP_DIMS_MAX */
    size_t shape[GW_DDP_DIMS_MAX];
};

struct gw_ddp_options {
    size_t struct_size;                /* see options.h */
    struct gw_comm *comm;              /* borrowed until gw_ddp_close */
    const struct gw_ddp_param *params; /* the parameters, in the order in which the forward pass
                                          uses them; the array is copied, and the values are
                                          borrowed */
    size_t params_count;               /* number of parameters, at least 1 */
    size_t first_bucket_bytes;         /* 0: GW_DDP_FIRST_BUCKET_BYTES */
    size_t bucket_bytes;               /* 0: GW_DDP_BUCKET_BYTES */
    bool find_unused;  /* true: parameters that backward does not use on this rank need no
                          gw_ddp_ready. At gw_ddp_finish their gradients enter the mean as they are.
                          If no rank used a parameter, its gradient does not change. The ranks
                          meet in gw_ddp_finish, also with a stream. false:
                          gw_ddp_finish fails if a parameter was not marked ready */
    bool no_broadcast; /* true: gw_ddp_open does not copy the parameters of rank 0 to the other
                          ranks */
    bool no_overlap;   /* true: run the reductions in gw_ddp_ready, or on `stream` itself, in order
                          with the work of the backward pass. Use this if several ranks share one
                          GPU: their kernels could wait for each other */
    void *stream; /* the stream on which the backward pass enqueues its work (only for a backend
                     with streams); the parameters are then in device memory. NULL: a gradient is
                     complete when gw_ddp_ready is called */
    bool compress_bf16;   /* true: gradients of F32 and F64 are sent as BF16, which takes half or a
                             quarter of the time on a slow network. An element then differs from
                             the mean over ranks by at most (ranks + 1) / 256 of the mean of its
                             absolute values. All ranks get the same bits */
    bool find_not_finite; /* true: gw_ddp_check_finite tells which rank had a gradient that was
                             infinite or NaN. Costs a look at all gradients, and 8 bytes a rank */
};
#define GW_DDP_OPTIONS(...) GW_POINTER(gw_ddp_options, __VA_ARGS__)

/* gw_ddp_open checks that all ranks have the same parameters and options, allocates zeroed
 * gradients and copies rank 0's parameters to all ranks. It is collective. If parameters or options
 * differ, it returns GW_EMISMATCH on all ranks, and the text names the first rank that differs from
 * rank 0 and the difference. If it fails on one rank, it returns the error of this rank on all
 * ranks. The caller closes the result with gw_ddp_close. */
GW_API int gw_ddp_open(const struct gw_ddp_options *options, struct gw_ddp **ddp,
                       struct gw_error *error);

/* gw_ddp_close frees the object and its gradients. NULL is allowed. Call it before the communicator
 * is closed. In the middle of a pass that reduces, it aborts the communicator, because other ranks
 * may wait for this one. */
GW_API void gw_ddp_close(struct gw_ddp *ddp);

/* gw_ddp_gradient returns the gradient of parameter i. It has as many elements as the parameter, is
 * aligned to 64 bytes and stays valid until gw_ddp_rebuild or gw_ddp_close. The memory is part of a
 * bucket, allocated by gw_comm_alloc (on NCCL it is device memory). After gw_ddp_finish it holds
 * the mean over all ranks. */
GW_API void *gw_ddp_gradient(struct gw_ddp *ddp, size_t i);

/* gw_ddp_zero sets all gradients to zero. If there is a stream, this happens after the work that is
 * on the stream now. It must not be called between gw_ddp_begin and gw_ddp_finish. If the device
 * fails, the communicator breaks and its next operation returns the error. */
GW_API void gw_ddp_zero(struct gw_ddp *ddp);

/* gw_ddp_begin starts a backward pass. If reduce is false, gradients are only added locally, until
 * a pass with reduce true. Returns GW_EINVAL if the previous pass was not finished. */
GW_API int gw_ddp_begin(struct gw_ddp *ddp, bool reduce, struct gw_error *error);

/* gw_ddp_ready announces that the gradient of parameter i is complete in this pass (with a stream:
 * will be complete when the work that is on the stream now has finished). The caller must not touch
 * the gradient until gw_ddp_finish. The call starts the reduction of every bucket that is complete
 * now. Returns GW_EINVAL outside a pass, or if parameter i was marked ready in this pass before. */
GW_API int gw_ddp_ready(struct gw_ddp *ddp, size_t i, struct gw_error *error);

/* gw_ddp_finish ends the pass and waits until all buckets are reduced. With a stream the call does
 * not wait: work that is put on the stream from now on waits for the reductions. If a reduction
 * fails or is late, the next operation of the communicator returns the error. Returns GW_EINVAL
 * with the name of a parameter if the parameter was not marked ready and find_unused is false. */
GW_API int gw_ddp_finish(struct gw_ddp *ddp, struct gw_error *error);

/* gw_ddp_check_finite returns GW_ENOTFINITE on all ranks if a gradient was not finite on a rank
 * before the last pass reduced it; then all ranks have it. The text names the step, the rank and
 * the parameter. To stop, return the error; to skip the step, do not step the optimizer. Needs
 * find_not_finite, else it returns GW_EINVAL. With a stream it waits for the stream. (With loss
 * scaling use gw_scaler_step, which skips such steps.) */
GW_API int gw_ddp_check_finite(struct gw_ddp *ddp, int64_t step, struct gw_error *error);

/* gw_ddp_broadcast copies rank 0's parameters to all ranks, for example after rank 0 has loaded a
 * checkpoint. */
GW_API int gw_ddp_broadcast(struct gw_ddp *ddp, struct gw_error *error);

/* gw_ddp_rebuild distributes the gradients over buckets in the order in which rank 0 marked them
 * ready in its last pass, for example once after the first step. Reductions then start as early as
 * possible, also if backward does not go through the parameters from the last to the first. It is
 * collective. All gradients become zero and move: call gw_ddp_gradient again. Returns GW_EINVAL
 * inside a pass. */
GW_API int gw_ddp_rebuild(struct gw_ddp *ddp, struct gw_error *error);

/* gw_ddp_buckets returns the number of buckets. */
GW_API size_t gw_ddp_buckets(const struct gw_ddp *ddp);

/* gw_ddp_bucket_of returns the index of the bucket that holds the gradient of parameter i. */
GW_API size_t gw_ddp_bucket_of(const struct gw_ddp *ddp, size_t i);

#ifdef __cplusplus
}
#endif

#endif
