/* Conversions between float and 16 bits, on the CPU and on a GPU. */
#include "examples/06_digits/precision.h"

#include "examples/nn/half.h"

#include <stdlib.h>

static void *room_new(const struct digits_precision *self, size_t bytes)
{
    return self->device ? nn_device_alloc(self->device, bytes) : calloc(1, bytes);
}

int digits_precision_init(struct digits_precision *self, const char *name, const struct nn_net *net,
                          struct nn_device *device, struct gw_error *error)
{
    const size_t count = nn_net_parameters(net);
    enum nn_precision precision;
    *self = (struct digits_precision){.device = device, .net = net, .dtype = GW_DTYPE_F32};
    const int rc = nn_precision_read(name, &precision, error);
    if (rc < 0 || precision == NN_F32)
        return rc;
    self->dtype = precision == NN_BF16 ? GW_DTYPE_BF16 : GW_DTYPE_F16;
    if (device)
        device->precision = precision;
    self->parameters = room_new(self, count * sizeof *self->parameters);
    self->gradients[0] = room_new(self, count * sizeof *self->gradients[0]);
    if (!self->parameters || !self->gradients[0])
        return gw_error_set(error, GW_ENOMEM, "no memory for parameters of 16 bits");
    for (size_t t = 1; t < nn_net_tensors(net); t++)
        self->gradients[t] = self->gradients[0] + nn_net_tensor(net, t)->offset;
    return 0;
}

void digits_precision_deinit(struct digits_precision *self)
{
    if (self->device) {
        nn_device_release(self->device, self->parameters);
        nn_device_release(self->device, self->gradients[0]);
        return;
    }
    free(self->parameters);
    free(self->gradients[0]);
}

static void narrow(const struct digits_precision *self, nn_real *from, uint16_t *to, size_t count)
{
    const bool is_bf16 = self->dtype == GW_DTYPE_BF16;
    if (self->device)
        NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_NARROW, .count = count, .at = {from, to},
                      .n = {is_bf16});
    for (size_t i = 0; i < count && !self->device; i++)
        to[i] = is_bf16 ? nn_half_to_bf16((float)from[i]) : nn_half_to_f16((float)from[i]);
}

void digits_precision_narrow(struct digits_precision *self, nn_real *parameters)
{
    narrow(self, parameters, self->parameters, nn_net_parameters(self->net));
}

void digits_precision_widen(struct digits_precision *self, nn_real *parameters)
{
    const bool is_bf16 = self->dtype == GW_DTYPE_BF16;
    const size_t count = nn_net_parameters(self->net);
    if (self->device)
        NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_WIDEN, .count = count,
                      .at = {self->parameters, parameters}, .n = {is_bf16});
    for (size_t i = 0; i < count && !self->device; i++)
        parameters[i] = is_bf16 ? nn_half_from_bf16(self->parameters[i])
                                : nn_half_from_f16(self->parameters[i]);
}

void digits_precision_zero(struct digits_precision *self)
{
    const size_t bytes = nn_net_parameters(self->net) * sizeof *self->gradients[0];
    if (self->device)
        nn_device_zero(self->device, self->gradients[0], bytes);
    else
        memset(self->gradients[0], 0, bytes);
}

void digits_precision_gradient(struct digits_precision *self, size_t tensor, uint16_t *bucket)
{
    narrow(self, self->gradients[tensor], bucket, nn_net_tensor(self->net, tensor)->count);
}
