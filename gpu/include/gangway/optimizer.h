/* Optimizers. If ranks start with equal parameters and use equal gradients, their parameters stay
 * equal bit for bit. In the formulas w is a parameter, g its gradient, and t the number of the
 * step, starting from 1. Norms |x| are of one tensor.
 *
 * SGD, Adam and AdamW are those of torch.optim (documentation of PyTorch 2):
 * SGD    g += wd w;  t = 1: b = g, else b = mu b + (1 - dampening) g;
 *        nesterov: g += mu b, else with momentum: g = b;  w -= lr g
 * Adam   (arXiv 1412.6980)  g += wd w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *        w -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
 * AdamW  (arXiv 1711.05101)  w -= lr wd w, then Adam with wd = 0
 *
 * LARS   (arXiv 1708.03888; the form of Apex, apex/parallel/LARC.py)
 *        r = trust |w| / (|g| + wd |w| + eps);  trust_clips: r = min(r / lr, 1);
 *        g = r (g + wd w), then SGD with wd = 0.  If |w| or |g| is 0: r = 1
 * LAMB   (arXiv 1904.00962; the form of Apex, apex/optimizers/fused_lamb.py)
 *        all gradients are first clipped to the norm gradient_norm_max (clip.h);
 *        m and v as in Adam;  u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd w;
 *        w -= lr |w| / |u| u.  If |w| or |u| is 0: w -= lr u
 * Both scale no tensor with no_decay (biases, norms): for these r = 1 and |w| / |u| = 1.
 *
 * A parameter of type BF16 or F16 has a master, which is a copy in float. A step changes the master
 * and rounds it to the parameter. Moments are in float (for F64 in double).
 *
 * Tensors are in host memory, or, with a stream, in the memory of a device: then each function
 * enqueues its work on the stream. The results of both differ by less than one rounding of a norm.
 * A device can fail: functions with a gw_error return GW_EIO, and GW_ENOMEM if it has no memory.
 *
 * A step on a stream can be captured in a CUDA graph. Each launch of the graph on the stream is
 * then a step, with the learning rate of the last gw_optimizer_set_lr before it. Factors of
 * gw_optimizer_scale and limits of gw_clip_norm stay those of the capture.
 *
 * An optimizer is used by one thread at a time. */
#ifndef GANGWAY_OPTIMIZER_H
#define GANGWAY_OPTIMIZER_H

#include <gangway/dtype.h>
#include <gangway/error.h>
#include <gangway/options.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_optimizer;
struct gw_checkpoint; /* see checkpoint.h */
struct gw_checkpoint_place;

enum gw_optimizer_kind {
    GW_OPTIMIZER_SGD = 1,
    GW_OPTIMIZER_ADAM = 2,
    GW_OPTIMIZER_ADAMW = 3,
    GW_OPTIMIZER_LARS = 4,
    GW_OPTIMIZER_LAMB = 5,
};

struct gw_optimizer_options {
    size_t struct_size; /* see options.h */
    enum gw_optimizer_kind kind;
    double lr;           /* >= 0 */
    double weight_decay; /* >= 0 */
    double momentum;     /* SGD, LARS: 0 <= momentum < 1 */
    double dampening;    /* SGD, LARS */
    bool nesterov;       /* SGD, LARS: requires momentum > 0 and dampening 0 */
    double beta1;        /* Adam, AdamW, LAMB: 0 <= beta < 1 */
    double beta2;
    double eps;               /* all but SGD: >= 0 */
    double trust;             /* LARS: > 0 */
    bool trust_clips;         /* LARS: the step is never larger than that of SGD */
    double gradient_norm_max; /* LAMB: > 0; 0: no clipping */
    void *stream; /* not NULL: all tensors are in memory of a device, and steps are enqueued on this
                     stream (a cudaStream_t), as in gw_ddp_options */
};

/* The next five functions are in this header and not in the library, so that the options have the
 * size that the program knows.
 *
 * gw_optimizer_sgd returns options with the learning rate lr; all other fields are 0. */
static inline struct gw_optimizer_options gw_optimizer_sgd(double lr)
{
    struct gw_optimizer_options options =
        GW_INIT(gw_optimizer_options, .kind = GW_OPTIMIZER_SGD, .lr = lr);
    return options;
}

/* gw_optimizer_adam returns options with beta1 0.9, beta2 0.999, eps 1e-8 and no weight decay. */
static inline struct gw_optimizer_options gw_optimizer_adam(double lr)
{
    struct gw_optimizer_options options =
        GW_INIT(gw_optimizer_options, .kind = GW_OPTIMIZER_ADAM, .lr = lr);
    options.beta1 = 0.9;
    options.beta2 = 0.999;
    options.eps = 1e-8;
    return options;
}

/* gw_optimizer_adamw returns the options of gw_optimizer_adam with weight decay 0.01. */
static inline struct gw_optimizer_options gw_optimizer_adamw(double lr)
{
    struct gw_optimizer_options options = gw_optimizer_adam(lr);
    options.kind = GW_OPTIMIZER_ADAMW;
    options.weight_decay = 0.01;
    return options;
}

/* gw_lars_options returns the options of gw_optimizer_sgd with momentum 0.9, trust 0.001 and eps
 * 1e-8. */
static inline struct gw_optimizer_options gw_lars_options(double lr)
{
    struct gw_optimizer_options options =
        GW_INIT(gw_optimizer_options, .kind = GW_OPTIMIZER_LARS, .lr = lr);
    options.momentum = 0.9;
    options.trust = 0.001;
    options.eps = 1e-8;
    return options;
}

/* gw_lamb_options returns the options of gw_optimizer_adam with weight decay 0.01, eps 1e-6 and
 * gradient_norm_max 1. */
static inline struct gw_optimizer_options gw_lamb_options(double lr)
{
    struct gw_optimizer_options options = gw_optimizer_adam(lr);
    options.kind = GW_OPTIMIZER_LAMB;
    options.weight_decay = 0.01;
    options.eps = 1e-6;
    options.gradient_norm_max = 1;
    return options;
}

/* One parameter tensor. This struct never gets another field, because it is used in arrays. The
 * memory belongs to the caller and must outlive the optimizer. */
struct gw_optimizer_tensor {
    void *data;           /* [count], changed by each step */
    const void *gradient; /* [count], which each step reads; for example the result of
                             gw_ddp_gradient */
    size_t count;
    bool no_decay;       /* no weight decay for this tensor (biases, norms) */
    enum gw_dtype dtype; /* F32, F64, BF16 or F16, of data and gradient; 0: F32 */
};

/* gw_optimizer_new returns an optimizer, which the caller frees with gw_optimizer_free. The options
 * and the array of tensors are copied; the memory that the tensors point to is borrowed. The
 * moments (0, 1 or 2 real numbers per element of a tensor) start at zero, and masters as copies of
 * their parameters. If the caller changes 16-bit parameters later, call gw_optimizer_read. Returns
 * GW_EINVAL if an option is out of range, GW_ENOMEM if out of memory, GW_ENOTSUP if there is a
 * stream and libgangway-cuda.so cannot be loaded. */
GW_API int gw_optimizer_new(const struct gw_optimizer_options *options,
                            const struct gw_optimizer_tensor *tensors, size_t count,
                            struct gw_optimizer **optimizer, struct gw_error *error);

/* gw_optimizer_free frees the optimizer but not the memory of the tensors. NULL is allowed. */
GW_API void gw_optimizer_free(struct gw_optimizer *optimizer);

/* gw_optimizer_step updates every parameter once from its gradient, which it multiplies by the
 * factor of gw_optimizer_scale. Then the factor is 1 again. On host memory it never
 * fails. */
GW_API int gw_optimizer_step(struct gw_optimizer *optimizer, struct gw_error *error);

/* gw_optimizer_read copies the 16-bit parameters to their masters. Call it after the parameters
 * were changed by other means than a step, for example by gw_ddp_broadcast. */
GW_API int gw_optimizer_read(struct gw_optimizer *optimizer, struct gw_error *error);

/* gw_optimizer_scale multiplies all gradients of the next step by `factor`, in addition to earlier
 * factors of this step. The gradients in memory do not change. */
GW_API void gw_optimizer_scale(struct gw_optimizer *optimizer, double factor);

/* gw_optimizer_set_lr sets the learning rate of later steps (for a learning rate schedule); lr >=
 * 0. With a stream it changes after the work that is on the stream now. If the device fails, or if
 * the stream is captured (GW_EINVAL), the next gw_optimizer_step returns the error. */
GW_API void gw_optimizer_set_lr(struct gw_optimizer *optimizer, double lr);

/* gw_optimizer_lr returns the learning rate. */
GW_API double gw_optimizer_lr(const struct gw_optimizer *optimizer);

/* gw_optimizer_state returns the state that a checkpoint must save: the step count, the
 * moments and the masters, in one block of *bytes bytes. The block belongs to the optimizer, and
 * every step updates it. The learning rate and the other options are not in the state. */
GW_API const void *gw_optimizer_state(const struct gw_optimizer *optimizer, size_t *bytes);

/* gw_optimizer_set_state copies a saved state into the optimizer. 16-bit parameters become their
 * rounded masters. The state must come from an optimizer of the same kind with tensors of the same
 * sizes and types. Otherwise it returns GW_EMISMATCH. */
GW_API int gw_optimizer_set_state(struct gw_optimizer *optimizer, const void *state, size_t bytes,
                                  struct gw_error *error);

/* gw_optimizer_checkpoint_set adds the state to a checkpoint as a section, where it lies. If the
 * optimizer has a stream, a gw_checkpoint_writer with this stream saves the set, and the state is
 * that of the steps that were enqueued before the save. The state is borrowed from the optimizer.
 * Returns the errors of gw_checkpoint_set_bytes. */
GW_API int gw_optimizer_checkpoint_set(const struct gw_optimizer *optimizer,
                                       struct gw_checkpoint *checkpoint, const char *name);

/* gw_optimizer_checkpoint_place returns where gw_checkpoint_comm_load_into or
 * gw_task_checkpoint_load_into puts such a section; the name is borrowed. Before that, no work may
 * be on the stream. Afterwards call gw_optimizer_checkpoint_loaded: 16-bit parameters become their
 * rounded masters. Returns GW_EMISMATCH if the section comes from an optimizer of another kind or
 * with other tensors. The state is then unspecified, until gw_optimizer_set_state or another load.
 */
GW_API struct gw_checkpoint_place
gw_optimizer_checkpoint_place(const struct gw_optimizer *optimizer, const char *name);
GW_API int gw_optimizer_checkpoint_loaded(struct gw_optimizer *optimizer, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
