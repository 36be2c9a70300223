/* Kernels on the fake device: the same bodies as kernel_launch.cu, in loops over blocks and
 * threads, later, on the stream's thread. Sums are added in the same order. */
#include "gpu/base/kernel_body.inc"
#include "gpu/cuda/kernel_device.h"

#include "tests/gpu/fake/fake.h"
#include <stdlib.h>
#include <string.h>

static double block_sum(double sums[GW_KERNEL_THREADS])
{
    for (unsigned half = GW_KERNEL_THREADS / 2; half > 0; half /= 2)
        for (unsigned i = 0; i < half; i++)
            sums[i] += sums[i + half];
    return sums[0];
}

static void piece_run(const struct gw_kernel *kernel, uint32_t piece)
{
    double gradient[GW_KERNEL_THREADS], weight[GW_KERNEL_THREADS], direction[GW_KERNEL_THREADS];
    for (uint32_t thread = 0; thread < GW_KERNEL_THREADS; thread++) {
        struct gw_kernel_squares sums = {0, 0, 0};
        kernel_piece(kernel, piece, (struct gw_kernel_range){thread, GW_KERNEL_THREADS}, &sums);
        gradient[thread] = sums.gradient;
        weight[thread] = sums.weight;
        direction[thread] = sums.direction;
    }
    if (kernel->kind == GW_KERNEL_SQUARES || kernel->kind == GW_KERNEL_MOMENTS)
        kernel_squares_set(kernel, piece, block_sum(gradient), block_sum(weight),
                           block_sum(direction));
}

static void total_run(const struct gw_kernel *kernel)
{
    double sums[GW_KERNEL_THREADS];
    for (uint32_t thread = 0; thread < GW_KERNEL_THREADS; thread++)
        sums[thread] = kernel_total(kernel, (struct gw_kernel_range){thread, GW_KERNEL_THREADS});
    kernel->scalars->squares = block_sum(sums);
}

/* Makes the pointers of a kernel, and of its tensors, reachable. */
static struct gw_kernel kernel_reach(const struct gw_kernel *kernel)
{
    struct gw_kernel reached = *kernel;
    const size_t bytes = kernel->tensors_count * sizeof *kernel->tensors;
    reached.pieces = fake_reach_own(kernel->pieces);
    reached.squares = fake_reach_own(kernel->squares);
    reached.ratios = fake_reach_own(kernel->ratios);
    reached.scalars = fake_reach_own(kernel->scalars);
    reached.steps = fake_reach_own(kernel->steps);
    reached.tensors = malloc(bytes);
    if (!reached.tensors)
        abort();
    memcpy(reached.tensors, fake_reach_own(kernel->tensors), bytes);
    for (uint32_t i = 0; i < kernel->tensors_count; i++) {
        struct gw_kernel_tensor *tensor = &reached.tensors[i];
        tensor->data = fake_reach_own(tensor->data);
        tensor->gradient = fake_reach_own(tensor->gradient);
        tensor->master = fake_reach_own(tensor->master);
        tensor->m = tensor->m ? fake_reach_own(tensor->m) : NULL;
        tensor->v = tensor->v ? fake_reach_own(tensor->v) : NULL;
    }
    return reached;
}

static void launch_run(void *arg)
{
    const struct gw_kernel kernel = kernel_reach(arg);
    fake_cost((uint64_t)1000 * kernel.pieces_count);
    switch (kernel.kind) {
    case GW_KERNEL_TOTAL:
        total_run(&kernel);
        break;
    case GW_KERNEL_CLIP:
    case GW_KERNEL_RATE:
    case GW_KERNEL_BEGIN:
        kernel_once(&kernel);
        break;
    case GW_KERNEL_RATIOS:
        for (uint32_t i = 0; i < kernel.tensors_count; i++)
            kernel_ratio(&kernel, i);
        break;
    default:
        for (uint32_t i = 0; i < kernel.pieces_count; i++)
            piece_run(&kernel, i);
    }
    free(kernel.tensors);
}

int gw_kernel_device_launch(const struct gw_kernel *kernel, void *stream)
{
    struct gw_kernel *launch = malloc(sizeof *launch);
    if (!launch)
        abort();
    *launch = *kernel;
    if (kernel->pieces_count > 0 || kernel->kind == GW_KERNEL_RATE ||
        kernel->kind == GW_KERNEL_BEGIN)
        return fake_launch(stream, launch_run, launch);
    free(launch);
    return cudaSuccess;
}
