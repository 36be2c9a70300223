/* Optimizers for float parameters in host memory. If ranks start with equal parameters and use
 * equal gradients, their parameters stay equal bit for bit. The formulas are those of torch.optim
 * (documentation of SGD, Adam and AdamW, PyTorch 2). In the formulas w is a parameter, g its
 * gradient, and t the number of the step, starting from 1:
 *
 * SGD    g += wd w;  t = 1: b = g, else b = mu b + (1 - dampening) g;
 *        nesterov: g += mu b, else with momentum: g = b;  w -= lr g
 * Adam   (arXiv 1412.6980)  g += wd w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *        w -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
 * AdamW  (arXiv 1711.05101)  w -= lr wd w, then Adam with wd = 0
 *
 * An optimizer is used by one thread at a time. */
#ifndef GANGWAY_OPTIMIZER_H
#define GANGWAY_OPTIMIZER_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_optimizer;

enum gw_optimizer_kind {
    GW_OPTIMIZER_SGD = 1,
    GW_OPTIMIZER_ADAM = 2,
    GW_OPTIMIZER_ADAMW = 3,
};

struct gw_optimizer_options {
    size_t struct_size; /* see options.h */
    enum gw_optimizer_kind kind;
    double lr;           /* >= 0 */
    double weight_decay; /* >= 0 */
    double momentum;     /* SGD: 0 <= momentum < 1 */
    double dampening;    /* SGD */
    bool nesterov;       /* SGD: requires momentum > 0 and dampening 0 */
    double beta1;        /* Adam, AdamW: 0 <= beta < 1 */
    double beta2;
    double eps; /* Adam, AdamW: >= 0 */
};

/* The next three functions are in this header and not in the library, so that the options have the
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

/* One parameter tensor. This struct never gets another field, because it is used in arrays. The
 * memory belongs to the caller and must outlive the optimizer. */
struct gw_optimizer_tensor {
    float *data;           /* [count], changed by each step */
    const float *gradient; /* the gradient, `count` floats, which each step reads; for example the
                              result of gw_ddp_gradient */
    size_t count;
    bool no_decay; /* no weight decay for this tensor (biases, norms) */
};

/* gw_optimizer_new returns an optimizer, which the caller frees with gw_optimizer_free. The options
 * and the array of tensors are copied; the memory that the tensors point to is borrowed. The state
 * of the optimizer (0, 1 or 2 floats per element of a tensor) starts at zero. Returns GW_EINVAL if
 * an option is out of range, GW_ENOMEM if out of memory. */
GW_API int gw_optimizer_new(const struct gw_optimizer_options *options,
                            const struct gw_optimizer_tensor *tensors, size_t tensors_count,
                            struct gw_optimizer **optimizer, struct gw_error *error);

/* gw_optimizer_free frees the optimizer but not the memory of the tensors. NULL is allowed. */
GW_API void gw_optimizer_free(struct gw_optimizer *optimizer);

/* gw_optimizer_step updates every parameter once from its gradient. */
GW_API void gw_optimizer_step(struct gw_optimizer *optimizer);

/* gw_optimizer_set_lr sets the learning rate of later steps (for a learning rate schedule); lr >=
 * 0. */
GW_API void gw_optimizer_set_lr(struct gw_optimizer *optimizer, double lr);

/* gw_optimizer_lr returns the learning rate. */
GW_API double gw_optimizer_lr(const struct gw_optimizer *optimizer);

/* gw_optimizer_state returns the state that a checkpoint must save: the step count and the moments,
 * in one block of *bytes bytes. The block belongs to the optimizer, and every step updates it. The
 * learning rate and the other options are not in the state. */
GW_API const void *gw_optimizer_state(const struct gw_optimizer *optimizer, size_t *bytes);

/* gw_optimizer_set_state copies a saved state into the optimizer. The state must come from an
 * optimizer of the same kind with tensors of the same sizes. Otherwise it returns GW_EMISMATCH. */
GW_API int gw_optimizer_set_state(struct gw_optimizer *optimizer, const void *state, size_t bytes,
                                  struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
