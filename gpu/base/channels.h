/* Kernels of batch normalisation. As in kernel.h, one source serves the host and devices: on a
 * device each channel has a block of threads. Sums are added in a fixed order. */
#ifndef GW_GPU_BASE_CHANNELS_H
#define GW_GPU_BASE_CHANNELS_H

#include <gangway/sync_batch_norm.h>
#include <stdint.h>

enum gw_channels_kind {
    GW_CHANNELS_MEANS,         /* x -> counted: means and the count of elements */
    GW_CHANNELS_SPREADS,       /* x -> counted: squares of the differences from these means */
    GW_CHANNELS_TRAIN,         /* counted of all ranks -> moments, running statistics, y */
    GW_CHANNELS_EVALUATE,      /* running statistics -> y */
    GW_CHANNELS_GRADIENT_SUMS, /* gradients g of y -> sums: of g, of g x'; gradients of scale and
                                  shift */
    GW_CHANNELS_BACKWARD,      /* sums -> gradient of x */
};

struct gw_channels {
    enum gw_channels_kind kind;
    uint32_t dtype; /* F32 or F64 */
    uint32_t rank, ranks;
    uint64_t channels;
    double eps, momentum;
    struct gw_sync_batch_norm_pass pass;
    double *counted; /* [ranks][2 * channels + 1] */
    double *sums;    /* [2][channels] */
    double *moments; /* [2][channels]: means and 1 / deviations of the batch; its count */
};

/* gw_channels_run runs a kernel on host memory in the calling thread. */
void gw_channels_run(const struct gw_channels *channels);

#endif
