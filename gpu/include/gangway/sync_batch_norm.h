/* Batch normalisation over the batch of all ranks together (Ioffe and Szegedy, arXiv 1502.03167):
 * for each channel y = scale (x - mean) / sqrt(variance + eps) + shift. Ranks exchange means and
 * sums, so a step with N ranks is the step of one rank with all their samples, also if ranks have
 * different numbers of samples. Running statistics are those of torch.nn.BatchNorm2d (PyTorch 2):
 * they move by `momentum` towards the batch, whose variance has n - 1 in its divisor for this.
 *
 * The program keeps all arrays; scale and shift are parameters like others. Backward adds this
 * rank's part to their gradients: gw_ddp reduces them with all others.
 *
 * Arrays are in host memory, or, with a stream, in the memory of a device: then each function
 * enqueues its work on the stream, waits for nothing, and can be captured in a CUDA graph. Sums are
 * in double. One thread uses an object at a time. */
#ifndef GANGWAY_SYNC_BATCH_NORM_H
#define GANGWAY_SYNC_BATCH_NORM_H

#include <gangway/comm.h>
#include <gangway/dtype.h>
#include <gangway/error.h>
#include <gangway/options.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_sync_batch_norm;

struct gw_sync_batch_norm_options {
    size_t struct_size;   /* see options.h */
    struct gw_comm *comm; /* borrowed until gw_sync_batch_norm_free; NULL: each rank for itself */
    size_t channels;      /* at least 1 */
    enum gw_dtype dtype;  /* of all arrays: F32 (also 0) or F64 */
    double eps;           /* > 0; 0: 1e-5 */
    double momentum;      /* 0 < momentum <= 1; 0: 0.1 */
    void *stream;         /* see above; NULL: host memory */
};
#define GW_SYNC_BATCH_NORM_OPTIONS(...) GW_POINTER(gw_sync_batch_norm_options, __VA_ARGS__)

/* The arrays of a pass, borrowed for the call. Those with a sample's elements are
 * [samples][channels][area], the others [channels]. This struct never gets another field. */
struct gw_sync_batch_norm_pass {
    size_t samples; /* of this rank; may be 0 */
    size_t area;    /* elements of a channel of a sample: height x width, or 1 */
    const void *x;
    void *y;                   /* forward */
    const void *scale, *shift; /* shift: forward only */
    void *running_mean;        /* forward */
    void *running_variance;    /* forward */
    const void *y_gradient;    /* backward */
    void *x_gradient;          /* backward adds to it; NULL: not wanted */
    void *scale_gradient;      /* backward adds to both */
    void *shift_gradient;
};

/* gw_sync_batch_norm_new returns an object that the caller frees with gw_sync_batch_norm_free.
 * Returns GW_EINVAL if an option is out of range, GW_ENOMEM, and the errors of a device. */
GW_API int gw_sync_batch_norm_new(const struct gw_sync_batch_norm_options *options,
                                  struct gw_sync_batch_norm **norm, struct gw_error *error);

/* gw_sync_batch_norm_free frees the object. NULL is allowed. */
GW_API void gw_sync_batch_norm_free(struct gw_sync_batch_norm *norm);

/* gw_sync_batch_norm_train computes y from the batch of all ranks, and moves the running
 * statistics, to the same bits on all ranks. It is collective. Errors are those of the communicator
 * and of the device. */
GW_API int gw_sync_batch_norm_train(struct gw_sync_batch_norm *norm,
                                    const struct gw_sync_batch_norm_pass *pass,
                                    struct gw_error *error);

/* gw_sync_batch_norm_evaluate computes y from the running statistics. It is not collective. */
GW_API int gw_sync_batch_norm_evaluate(struct gw_sync_batch_norm *norm,
                                       const struct gw_sync_batch_norm_pass *pass,
                                       struct gw_error *error);

/* gw_sync_batch_norm_backward computes the gradients of the last gw_sync_batch_norm_train, with the
 * same x. It is collective. The gradients of y are those of the sum or mean over this rank's
 * samples, whatever the loss of each rank is; x_gradient is then of the sum of the losses of all
 * ranks. */
GW_API int gw_sync_batch_norm_backward(struct gw_sync_batch_norm *norm,
                                       const struct gw_sync_batch_norm_pass *pass,
                                       struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
