/* Mixed precision: parameters and gradients of 16 bits between the ranks and in the optimizer,
 * which has masters in float. The layers compute in float, from the 16-bit parameters; on a device
 * all factors of products have 16 bits, for its tensor cores. */
#ifndef GW_EXAMPLES_DIGITS_PRECISION_H
#define GW_EXAMPLES_DIGITS_PRECISION_H

#include "examples/nn/device.h"
#include "examples/nn/net.h"

#include <gangway/dtype.h>

enum { DIGITS_TENSORS_MAX = 64 };

/* Memory is where the network computes: on the device, if there is one. */
struct digits_precision {
    struct nn_device *device; /* NULL: the CPU */
    const struct nn_net *net;
    enum gw_dtype dtype;                    /* F32: none of what follows is used */
    uint16_t *parameters;                   /* [parameters] */
    nn_real *gradients[DIGITS_TENSORS_MAX]; /* in float; parts of one block */
};

/* digits_precision_init makes room for "f32", "bf16" or "f16". A device then computes its
 * products from 16 bits. GW_EINVAL: another name; GW_ENOMEM.
 * digits_precision_deinit frees it. net and device are borrowed. */
int digits_precision_init(struct digits_precision *self, const char *name, const struct nn_net *net,
                          struct nn_device *device, struct gw_error *error);
void digits_precision_deinit(struct digits_precision *self);

/* digits_precision_narrow rounds parameters to 16 bits, and digits_precision_widen converts them
 * back. */
void digits_precision_narrow(struct digits_precision *self, nn_real *parameters);
void digits_precision_widen(struct digits_precision *self, nn_real *parameters);

/* digits_precision_zero comes before a backward pass, which adds to self->gradients.
 * digits_precision_gradient rounds the gradient of a tensor to 16 bits. */
void digits_precision_zero(struct digits_precision *self);
void digits_precision_gradient(struct digits_precision *self, size_t tensor, uint16_t *bucket);

#endif
