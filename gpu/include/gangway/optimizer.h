/* Optimizers on float parameters in host memory. Ranks that start equal and step with equal
 * gradients stay equal, bit for bit. Formulas are those of torch.optim (documentation of SGD, Adam
 * and AdamW, PyTorch 2); w parameter, g gradient, t the step from 1:
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
    enum gw_optimizer_kind kind;
    double lr;           /* >= 0 */
    double weight_decay; /* >= 0 */
    double momentum;     /* SGD: 0 to below 1 */
    double dampening;    /* SGD */
    bool nesterov;       /* SGD: needs momentum > 0 and dampening 0 */
    double beta1;        /* Adam, AdamW: 0 to below 1 */
    double beta2;
    double eps; /* Adam, AdamW: >= 0 */
};

/* gw_optimizer_sgd returns options with lr and every other 0; change what you need. */
GW_API struct gw_optimizer_options gw_optimizer_sgd(double lr);

/* gw_optimizer_adam returns options with beta1 0.9, beta2 0.999, eps 1e-8, no weight decay. */
GW_API struct gw_optimizer_options gw_optimizer_adam(double lr);

/* gw_optimizer_adamw returns options like Adam's, with weight decay 0.01. */
GW_API struct gw_optimizer_options gw_optimizer_adamw(double lr);

/* One parameter tensor; the memory is the caller's and outlives the optimizer. */
struct gw_optimizer_tensor {
    float *data;           /* [count], changed by each step */
    const float *gradient; /* [count], read by each step; gw_ddp_gradient's, for instance */
    size_t count;
    bool no_decay; /* weight decay leaves it alone (biases, norms) */
};

/* gw_optimizer_new returns an optimizer for gw_optimizer_free; options and the array of tensors are
 * copied, what they point to is borrowed. Its state (0, 1 or 2 floats a parameter) starts at zero.
 * GW_EINVAL with a text for options out of range; GW_ENOMEM. */
GW_API int gw_optimizer_new(const struct gw_optimizer_options *options,
                            const struct gw_optimizer_tensor *tensors, size_t tensors_count,
                            struct gw_optimizer **optimizer, struct gw_error *error);

/* gw_optimizer_free frees it, never the tensors (NULL: nothing). */
GW_API void gw_optimizer_free(struct gw_optimizer *optimizer);

/* gw_optimizer_step changes every parameter by its gradient, once. */
GW_API void gw_optimizer_step(struct gw_optimizer *optimizer);

/* gw_optimizer_set_lr changes the learning rate of later steps (a schedule); lr >= 0. */
GW_API void gw_optimizer_set_lr(struct gw_optimizer *optimizer, double lr);

/* gw_optimizer_lr returns the learning rate. */
GW_API double gw_optimizer_lr(const struct gw_optimizer *optimizer);

/* gw_optimizer_state returns the state to put into a checkpoint: step count and moments, in one
 * block of *bytes that belongs to the optimizer and is current after each step. The learning rate
 * and the other options are not in it. */
GW_API const void *gw_optimizer_state(const struct gw_optimizer *optimizer, size_t *bytes);

/* gw_optimizer_set_state goes on from a state of an optimizer of the same kind over tensors of the
 * same sizes; copied. GW_EMISMATCH otherwise. */
GW_API int gw_optimizer_set_state(struct gw_optimizer *optimizer, const void *state, size_t bytes,
                                  struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
