/* A network of layers, computed forward and backward on the CPU, with OpenBLAS for the products, or
 * on a GPU (device.h).
 *
 * Each call that adds a layer returns its number, which later layers take as their input. So a
 * residual block is:
 *
 *     int a = nn_relu(net, nn_batch_norm(net, nn_convolution(net, x, 16, 3, 1)));
 *     int b = nn_batch_norm(net, nn_convolution(net, a, 16, 3, 1));
 *     x = nn_relu(net, nn_add(net, x, b));
 *
 * The first error sticks: nn_net_prepare reports it. The last layer that was added is the output.
 * Parameters are one flat array of the caller's; gradients are one array for each tensor (gw_ddp
 * keeps them in its buckets). Samples are stored one after another, a sample as [channel][row]
 * [column]. One thread uses a network at a time; OpenBLAS must have one thread (one rank uses one
 * core), which nn_net_prepare sets for the whole process. */
#ifndef GW_EXAMPLES_NN_NET_H
#define GW_EXAMPLES_NN_NET_H

#include "examples/nn/tensor.h"

struct gw_comm;
struct nn_device;
struct nn_net;

/* nn_net_new returns a network whose layer 0 is the input, or NULL if out of memory. The caller
 * frees it with nn_net_free, which accepts NULL. */
struct nn_net *nn_net_new(struct nn_shape input);
void nn_net_free(struct nn_net *net);

/* nn_convolution: a square kernel of odd size with a bias, zero padding of kernel / 2, so that
 * stride 1 keeps height and width. nn_dense: every output from all inputs, with a bias; the shape
 * becomes outputs x 1 x 1. */
int nn_convolution(struct nn_net *net, int input, int channels, int kernel, int stride);
int nn_dense(struct nn_net *net, int input, int outputs);

/* nn_batch_norm: y = scale (x - mean) / sqrt(variance + 1e-5) + shift for each channel (Ioffe and
 * Szegedy, arXiv 1502.03167). Training uses mean and variance of the batch, and moves the running
 * ones by a tenth towards them (the variance with n - 1 in its divisor, as torch.nn.BatchNorm2d
 * does); evaluation uses the running ones. */
int nn_batch_norm(struct nn_net *net, int input);

/* nn_relu: max(x, 0). nn_max_pool: the largest of each size x size square; a rest at the right and
 * lower edge is left out. nn_average: the mean of each channel. nn_add: the sum of two layers of
 * equal shape. */
int nn_relu(struct nn_net *net, int input);
int nn_max_pool(struct nn_net *net, int input, int size);
int nn_average(struct nn_net *net, int input);
int nn_add(struct nn_net *net, int first, int second);

/* nn_net_shape returns the shape of a layer's output. */
struct nn_shape nn_net_shape(const struct nn_net *net, int layer);

/* nn_net_use_device makes the network compute on a device, which is borrowed and outlives it. It
 * comes before nn_net_prepare. Passes are then only enqueued, and nn_net_entropy_end waits for
 * them. Parameters, gradients and what the passes return are in memory of the device; inputs,
 * labels and statistics are in memory of the host. */
void nn_net_use_device(struct nn_net *net, struct nn_device *device);

/* nn_net_synchronise makes every normalisation use the batch of all ranks of comm together, which
 * is borrowed and outlives the network. It comes before nn_net_prepare. Ranks may have different
 * numbers of samples. Without this call each rank uses its own batch. */
void nn_net_synchronise(struct nn_net *net, struct gw_comm *comm);

/* nn_net_prepare makes room for batches of up to `samples` samples. No layer can be added later.
 * GW_EINVAL: a layer was given an input or a size that cannot be. GW_ENOMEM. */
int nn_net_prepare(struct nn_net *net, size_t samples, struct gw_error *error);

/* The parameters, in the order in which the forward pass uses them. */
size_t nn_net_tensors(const struct nn_net *net);
const struct nn_tensor *nn_net_tensor(const struct nn_net *net, size_t i);
size_t nn_net_parameters(const struct nn_net *net);

/* nn_net_randomise fills parameters[nn_net_parameters]: weights and biases uniform in
 * +-1/sqrt(inputs), as torch.nn does; scales 1, shifts 0. A seed gives the same numbers on every
 * machine. */
void nn_net_randomise(const struct nn_net *net, uint64_t seed, nn_real *parameters);

/* nn_net_statistics returns the running means and variances of all normalisations, which belong
 * into a checkpoint: *count numbers. The network owns them; the caller may overwrite them, and
 * then calls nn_net_statistics_changed, which returns a failure of the device. */
nn_real *nn_net_statistics(struct nn_net *net, size_t *count);
int nn_net_statistics_changed(struct nn_net *net, struct gw_error *error);

/* nn_net_forward computes the output of a batch, *output[samples][outputs], which is borrowed until
 * the next call. input[samples][...] must not change before nn_net_backward. Errors are those of
 * gw_sync_batch_norm_train. */
int nn_net_forward(struct nn_net *net, const nn_real *parameters, const nn_real *input,
                   size_t samples, bool training, const nn_real **output, struct gw_error *error);

/* Called by nn_net_backward, on its thread, when the gradient of a tensor is complete: the last
 * tensor comes first. */
typedef void nn_on_gradient(void *user, size_t tensor);

/* nn_net_backward adds the gradients of the last forward pass, which was one of training, to
 * gradients[tensor][count], from the gradient of its output, output_gradient[samples][outputs]
 * (NULL: that of the last nn_net_entropy).
 * on_gradient may be NULL. Errors are those of gw_sync_batch_norm_backward. */
int nn_net_backward(struct nn_net *net, const nn_real *parameters, const nn_real *output_gradient,
                    nn_real *const *gradients, nn_on_gradient *on_gradient, void *user,
                    struct gw_error *error);

/* nn_cross_entropy returns the mean over the batch of -log softmax(output)[label], in nats, and
 * writes its gradient to gradient[samples][classes]. *right is how many samples have their label as
 * the largest output. gradient may be NULL. */
double nn_cross_entropy(const nn_real *output, const uint8_t *labels, size_t samples, int classes,
                        nn_real *gradient, size_t *right);

/* nn_net_entropy does the same with the output of the last forward pass, and keeps the gradient for
 * nn_net_backward, multiplied by the scale of nn_net_scale_loss (for gw_scaler). nn_net_entropy_end
 * gives the loss and how many are right; with a device it waits for all work, and returns the first
 * failure. GW_ENOMEM. */
int nn_net_entropy(struct nn_net *net, const uint8_t *labels, struct gw_error *error);
void nn_net_scale_loss(struct nn_net *net, double scale); /* 1 at first */
int nn_net_entropy_end(struct nn_net *net, double *loss, size_t *right, struct gw_error *error);

#endif
