/* The kernels of channels.h on the fake device: the same bodies as channels_launch.cu. */
#include "gpu/base/channels_body.inc"
#include "gpu/cuda/kernel_device.h"

#include "tests/gpu/fake/fake.h"
#include <stdlib.h>

static void *reach(const void *memory)
{
    return memory ? fake_reach_own(memory) : NULL;
}

static struct gw_channels channels_reach(const struct gw_channels *from)
{
    struct gw_channels k = *from;
    k.counted = fake_reach_own(k.counted);
    k.sums = fake_reach_own(k.sums);
    k.moments = fake_reach_own(k.moments);
    k.pass.x = reach(k.pass.x);
    k.pass.y = reach(k.pass.y);
    k.pass.scale = reach(k.pass.scale);
    k.pass.shift = reach(k.pass.shift);
    k.pass.running_mean = reach(k.pass.running_mean);
    k.pass.running_variance = reach(k.pass.running_variance);
    k.pass.y_gradient = reach(k.pass.y_gradient);
    k.pass.x_gradient = reach(k.pass.x_gradient);
    k.pass.scale_gradient = reach(k.pass.scale_gradient);
    k.pass.shift_gradient = reach(k.pass.shift_gradient);
    return k;
}

static void channels_run(void *arg)
{
    const struct gw_channels k = channels_reach(arg);
    for (uint64_t c = 0; c < k.channels; c++) {
        struct gw_channels_pair sums = {0, 0};
        for (uint32_t thread = 0; thread < GW_KERNEL_THREADS; thread++) {
            const struct gw_channels_pair mine =
                channels_body(&k, c, (struct gw_kernel_range){thread, GW_KERNEL_THREADS});
            sums.first += mine.first;
            sums.second += mine.second;
        }
        if (channels_has_sums(&k))
            channels_sums_set(&k, c, sums);
    }
}

int gw_channels_device_launch(const struct gw_channels *channels, void *stream)
{
    struct gw_channels *launch = malloc(sizeof *launch);
    if (!launch)
        abort();
    *launch = *channels;
    return fake_launch(stream, channels_run, launch);
}
