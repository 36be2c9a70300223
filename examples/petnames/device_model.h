/* The pet-names model on a GPU: what model.h computes, on memory of a device. Parameters and
 * gradients are arrays on the device. Work is enqueued; pet_device_model_loss waits. */
#ifndef GW_EXAMPLES_PETNAMES_DEVICE_MODEL_H
#define GW_EXAMPLES_PETNAMES_DEVICE_MODEL_H

#include "examples/nn/device.h"
#include "examples/petnames/model.h"

struct pet_device_model;

/* pet_device_model_new makes room on the device for batches of up to sample_max samples. The model
 * is copied, the device is borrowed. GW_ENOMEM. pet_device_model_free accepts NULL. */
int pet_device_model_new(const struct pet_model *model, size_t sample_max, struct nn_device *device,
                         struct pet_device_model **made, struct gw_error *error);
void pet_device_model_free(struct pet_device_model *self);

/* pet_device_model_forward starts what pet_model_forward does. Between two calls
 * pet_device_model_loss must have waited: the batch is copied from memory of the host. */
void pet_device_model_forward(struct pet_device_model *self, const pet_real *parameters,
                              const struct pet_batch *batch);

/* pet_device_model_backward starts what pet_model_backward does; on_gradient is called on this
 * thread when the work that completes a gradient has been enqueued. */
void pet_device_model_backward(struct pet_device_model *self, const pet_real *parameters,
                               const struct pet_batch *batch,
                               pet_real *const gradients[PET_TENSORS],
                               pet_model_on_gradient *on_gradient, void *user);

/* pet_device_model_loss waits for the device and gives the loss of the last forward pass, or the
 * first failure of the device. */
int pet_device_model_loss(struct pet_device_model *self, double *loss, struct gw_error *error);

#endif
