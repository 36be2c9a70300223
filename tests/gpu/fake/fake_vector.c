/* The kernels of vector.h on the fake device: the same bodies as vector_launch.cu. */
#include "gpu/base/vector_body.inc"
#include "gpu/cuda/kernel_device.h"

#include "tests/gpu/fake/fake.h"
#include <stdlib.h>

static void vector_run(void *arg)
{
    struct gw_vector vector = *(const struct gw_vector *)arg;
    vector.from = fake_reach_own(vector.from);
    vector.to = vector.to ? fake_reach_own(vector.to) : NULL;
    vector.found = vector.found ? fake_reach_own(vector.found) : NULL;
    if (vector.kind == GW_VECTOR_CONVERT) {
        for (uint64_t thread = 0; thread < GW_KERNEL_THREADS; thread++)
            vector_convert(&vector, thread, GW_KERNEL_THREADS);
        return;
    }
    for (uint64_t i = 0; i < vector.count; i++)
        if (vector_is_odd(vector.from, vector.from_dtype, i) &&
            vector_place(&vector, i) > *vector.found)
            *vector.found = vector_place(&vector, i);
}

int gw_vector_device_launch(const struct gw_vector *vector, void *stream)
{
    struct gw_vector *launch = malloc(sizeof *launch);
    if (!launch)
        abort();
    *launch = *vector;
    return fake_launch(stream, vector_run, launch);
}
