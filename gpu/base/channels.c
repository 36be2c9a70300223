/* Runs the kernels of channels.h on host memory: a channel has one thread. */
#include "gpu/base/channels_body.inc"

void gw_channels_run(const struct gw_channels *channels)
{
    for (uint64_t c = 0; c < channels->channels; c++) {
        const struct gw_channels_pair sums =
            channels_body(channels, c, (struct gw_kernel_range){0, 1});
        if (channels_has_sums(channels))
            channels_sums_set(channels, c, sums);
    }
}
