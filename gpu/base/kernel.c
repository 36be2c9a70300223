/* Runs kernels on host memory. */
#include "gpu/base/kernel_body.inc"

#include <assert.h>

static const struct gw_kernel_range whole = {0, 1};

static void pieces_run(const struct gw_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->pieces_count; i++) {
        struct gw_kernel_squares sums = {0, 0, 0};
        kernel_piece(kernel, i, whole, &sums);
        if (kernel->kind == GW_KERNEL_SQUARES || kernel->kind == GW_KERNEL_MOMENTS)
            kernel_squares_set(kernel, i, sums.gradient, sums.weight, sums.direction);
    }
}

void gw_kernel_run(const struct gw_kernel *kernel)
{
    switch (kernel->kind) {
    case GW_KERNEL_SQUARES:
    case GW_KERNEL_MOMENTS:
    case GW_KERNEL_STEP:
    case GW_KERNEL_READ:
    case GW_KERNEL_WRITE:
        pieces_run(kernel);
        return;
    case GW_KERNEL_TOTAL:
        kernel->scalars->squares = kernel_total(kernel, whole);
        return;
    case GW_KERNEL_CLIP:
    case GW_KERNEL_RATE:
    case GW_KERNEL_BEGIN:
        kernel_once(kernel);
        return;
    case GW_KERNEL_RATIOS:
        for (uint32_t i = 0; i < kernel->tensors_count; i++)
            kernel_ratio(kernel, i);
        return;
    }
    assert(!"kernel of an unknown kind");
}
