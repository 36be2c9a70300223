/* Batch normalisation: kernels (channels.h), with a message among ranks between them. */
#include <gangway/sync_batch_norm.h>

#include "gpu/base/channels.h"
#include "gpu/base/kernel.h"
#include "gpu/cuda/module.h"
#include "graph/base/options_read.h"

#include <math.h>
#include <stdlib.h>

struct gw_sync_batch_norm {
    struct gw_sync_batch_norm_options options;
    const struct gw_kernel_device *device; /* NULL: host memory */
    struct gw_channels kernel;             /* its `counted` is the start of all memory */
};

static int options_check(struct gw_sync_batch_norm_options *o, struct gw_error *error)
{
    o->eps = o->eps == 0 ? 1e-5 : o->eps;
    o->momentum = o->momentum == 0 ? 0.1 : o->momentum;
    o->dtype = o->dtype ? o->dtype : GW_DTYPE_F32;
    if (o->channels == 0 || o->channels > INT32_MAX)
        return gw_error_set(error, GW_EINVAL, "batch norm: invalid number of channels %zu",
                            o->channels);
    if (o->dtype != GW_DTYPE_F32 && o->dtype != GW_DTYPE_F64)
        return gw_error_set(error, GW_EINVAL, "batch norm: type %s; only f32 and f64 are possible",
                            gw_dtype_name(o->dtype));
    if (!(o->eps > 0) || !isfinite(o->eps) || !(o->momentum > 0 && o->momentum <= 1))
        return gw_error_set(error, GW_EINVAL, "batch norm: invalid eps %g or momentum %g", o->eps,
                            o->momentum);
    return 0;
}

int gw_sync_batch_norm_new(const struct gw_sync_batch_norm_options *given,
                           struct gw_sync_batch_norm **norm, struct gw_error *error)
{
    struct gw_sync_batch_norm_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_sync_batch_norm_options, error);
    if (rc == 0)
        rc = options_check(&options, error);
    if (rc < 0)
        return rc;
    struct gw_sync_batch_norm *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "batch norm: out of memory");
    const size_t ranks = options.comm ? (size_t)gw_comm_size(options.comm) : 1;
    const size_t channels = options.channels, counted = ranks * (2 * channels + 1);
    const size_t bytes = (counted + 4 * channels + 1) * sizeof(double);
    void *memory = NULL;
    self->options = options;
    if (options.stream)
        rc = gw_comm_nccl_kernels(&self->device, error);
    if (rc == 0 && self->device)
        rc = self->device->alloc(options.stream, bytes, &memory, error);
    else if (rc == 0 && !(memory = calloc(1, bytes)))
        rc = gw_error_set(error, GW_ENOMEM, "batch norm: out of memory");
    if (rc < 0) {
        free(self);
        return rc;
    }
    double *at = memory;
    self->kernel = (struct gw_channels){
        .dtype = options.dtype,
        .rank = options.comm ? (uint32_t)gw_comm_rank(options.comm) : 0,
        .ranks = (uint32_t)ranks,
        .channels = channels,
        .eps = options.eps,
        .momentum = options.momentum,
        .counted = at,
        .sums = at + counted,
        .moments = at + counted + 2 * channels,
    };
    *norm = self;
    return 0;
}

void gw_sync_batch_norm_free(struct gw_sync_batch_norm *norm)
{
    if (!norm)
        return;
    if (norm->device)
        norm->device->free(norm->options.stream, norm->kernel.counted);
    else
        free(norm->kernel.counted);
    free(norm);
}

static int run(struct gw_sync_batch_norm *norm, enum gw_channels_kind kind,
               const struct gw_sync_batch_norm_pass *pass, struct gw_error *error)
{
    norm->kernel.kind = kind;
    norm->kernel.pass = *pass;
    if (norm->device)
        return norm->device->channels(norm->options.stream, &norm->kernel, error);
    gw_channels_run(&norm->kernel);
    return 0;
}

int gw_sync_batch_norm_train(struct gw_sync_batch_norm *norm,
                             const struct gw_sync_batch_norm_pass *pass, struct gw_error *error)
{
    const struct gw_channels *kernel = &norm->kernel;
    int rc = run(norm, GW_CHANNELS_MEANS, pass, error);
    if (rc == 0)
        rc = run(norm, GW_CHANNELS_SPREADS, pass, error);
    if (rc == 0 && norm->options.comm)
        rc = gw_comm_all_gather(norm->options.comm,
                                GW_COMM_ARGS(.recv = kernel->counted,
                                             .count = 2 * kernel->channels + 1,
                                             .dtype = GW_DTYPE_F64, .stream = norm->options.stream),
                                error);
    return rc == 0 ? run(norm, GW_CHANNELS_TRAIN, pass, error) : rc;
}

int gw_sync_batch_norm_evaluate(struct gw_sync_batch_norm *norm,
                                const struct gw_sync_batch_norm_pass *pass, struct gw_error *error)
{
    return run(norm, GW_CHANNELS_EVALUATE, pass, error);
}

int gw_sync_batch_norm_backward(struct gw_sync_batch_norm *norm,
                                const struct gw_sync_batch_norm_pass *pass, struct gw_error *error)
{
    int rc = run(norm, GW_CHANNELS_GRADIENT_SUMS, pass, error);
    if (rc == 0 && norm->options.comm)
        rc = gw_comm_all_reduce(norm->options.comm,
                                GW_COMM_ARGS(.recv = norm->kernel.sums,
                                             .count = 2 * norm->kernel.channels,
                                             .dtype = GW_DTYPE_F64, .stream = norm->options.stream),
                                error);
    return rc == 0 && pass->x_gradient ? run(norm, GW_CHANNELS_BACKWARD, pass, error) : rc;
}
