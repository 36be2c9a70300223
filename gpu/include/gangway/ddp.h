/* Data-parallel training: every rank holds the same parameters, computes gradients on its own
 * samples, and the mean over ranks is what all optimizers see. Gradients lie in buckets that the
 * communicator allocated, and a bucket is reduced as soon as backward has filled it. With a stream,
 * on a backend that has them, that happens on the communicator's own stream, beside the rest of
 * backward, which it waits for on the device only as far as it needs; the host backend has no
 * helper thread and reduces inside gw_ddp_ready. The rules are PyTorch's
 * (torch/csrc/distributed/c10d/reducer.cpp): buckets are filled in reverse order of the parameters,
 * one kind of bucket a type, the first closed when it reaches 1 MiB, later ones 25 MiB; they are
 * launched in the order of their index, whatever order they become ready in; each contribution is
 * divided by the number of ranks, then summed.
 *
 *     gw_ddp_open(...);                       gradient[i] = gw_ddp_gradient(ddp, i);
 *     each step:   gw_ddp_zero(ddp);
 *                  gw_ddp_begin(ddp, true, &error);
 *                  backward: add into gradient[i], then gw_ddp_ready(ddp, i, &error), last first
 *                  gw_ddp_finish(ddp, &error);
 *                  gw_optimizer_step(optimizer);
 *
 * Accumulation over micro-steps: gw_ddp_begin(ddp, false) for all but the last one; gradients add
 * up locally and are reduced in the last.
 *
 * Every function here is called by all ranks in the same order (gw_ddp_gradient, gw_ddp_zero and
 * the order of gw_ddp_ready excepted), by one thread. Errors of the communicator are passed on, and
 * break it (see comm.h); GW_EINVAL means that calls came in a wrong order and changed nothing. */
#ifndef GANGWAY_DDP_H
#define GANGWAY_DDP_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_ddp;

enum {
    GW_DDP_DIMS_MAX = 8,
    GW_DDP_NAME_MAX = 64, /* with the end; longer names are cut in messages */
    GW_DDP_FIRST_BUCKET_BYTES = 1 << 20,
    GW_DDP_BUCKET_BYTES = 25 << 20,
};

/* One parameter. Elements = product of shape[0..dims-1], at least 1. */
struct gw_ddp_param {
    const char *name;    /* for messages; may be NULL */
    void *data;          /* the values, row-major; written by the broadcast. Borrowed */
    enum gw_dtype dtype; /* F32, F64, BF16 or F16; the gradient has the same */
    int dims;            /* 1 to GW_DDP_DIMS_MAX */
    size_t shape[GW_DDP_DIMS_MAX];
};

struct gw_ddp_options {
    struct gw_comm *comm;              /* borrowed until gw_ddp_close */
    const struct gw_ddp_param *params; /* in order of use in forward; copied, data borrowed */
    size_t params_count;               /* at least 1 */
    size_t first_bucket_bytes;         /* 0: GW_DDP_FIRST_BUCKET_BYTES */
    size_t bucket_bytes;               /* 0: GW_DDP_BUCKET_BYTES */
    bool find_unused;  /* a parameter not marked ready until finish is unused on this rank: what its
                          gradient holds counts. Unused on every rank: its gradient stays as it is.
                          Without this, such a parameter is an error at finish */
    bool no_broadcast; /* leave the parameters as they are at open */
    bool no_overlap;   /* reduce on `stream` itself: after what is there, before what comes later;
                          for several ranks on one GPU, whose kernels could wait for each other */
    void *stream;      /* where backward's work is enqueued, by a backend with streams; parameters
                          then lie in device memory. NULL: gradients are complete at gw_ddp_ready */
};

/* gw_ddp_open checks that all ranks have the same parameters (GW_EMISMATCH on all ranks, naming the
 * first one that differs and how, if not), allocates zeroed gradients and copies rank 0's
 * parameters to all. Collective. Gives back what gw_ddp_close closes. */
GW_API int gw_ddp_open(const struct gw_ddp_options *options, struct gw_ddp **ddp,
                       struct gw_error *error);

/* gw_ddp_close frees it, gradients too (NULL: nothing); before the communicator is closed. */
GW_API void gw_ddp_close(struct gw_ddp *ddp);

/* gw_ddp_gradient returns the gradient of parameter i: as many elements as the parameter, aligned
 * to 64 bytes, valid until gw_ddp_close. It is a view into a bucket, in memory of gw_comm_alloc (on
 * NCCL a device's): after gw_ddp_finish it holds the mean over ranks. */
GW_API void *gw_ddp_gradient(struct gw_ddp *ddp, size_t i);

/* gw_ddp_zero sets all gradients to zero, with a stream after what is on it. Not between begin and
 * finish. A device that fails at it breaks the communicator, which the next operation says. */
GW_API void gw_ddp_zero(struct gw_ddp *ddp);

/* gw_ddp_begin starts a backward pass. reduce false: gradients only add up locally, until a pass
 * with true. GW_EINVAL if the last pass is not finished. */
GW_API int gw_ddp_begin(struct gw_ddp *ddp, bool reduce, struct gw_error *error);

/* gw_ddp_ready says that the gradient of parameter i is complete in this pass, or will be by what
 * is on the stream now; nobody touches it until finish. It launches the buckets that are full now.
 * GW_EINVAL outside a pass, or if i was ready in this pass before. */
GW_API int gw_ddp_ready(struct gw_ddp *ddp, size_t i, struct gw_error *error);

/* gw_ddp_finish ends the pass: waits until all buckets are reduced. GW_EINVAL, naming it, if a
 * parameter was not marked ready and options said nothing of unused ones. */
GW_API int gw_ddp_finish(struct gw_ddp *ddp, struct gw_error *error);

/* gw_ddp_broadcast copies rank 0's parameters to all ranks (after rank 0 loaded them, say). */
GW_API int gw_ddp_broadcast(struct gw_ddp *ddp, struct gw_error *error);

/* gw_ddp_buckets returns the number of buckets. */
GW_API size_t gw_ddp_buckets(const struct gw_ddp *ddp);

/* gw_ddp_bucket_of returns the index of the bucket that parameter i lies in. */
GW_API size_t gw_ddp_bucket_of(const struct gw_ddp *ddp, size_t i);

#ifdef __cplusplus
}
#endif

#endif
