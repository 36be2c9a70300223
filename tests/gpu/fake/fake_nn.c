/* Kernels of examples/nn on the fake device: the same bodies as launch.cu, in loops over blocks and
 * threads, later, on the stream's thread. Memory of the host ends the program: a GPU cannot reach
 * it. */
#include "examples/nn/kernel_body.inc"

#include "examples/nn/cuda/launch.h"
#include "tests/gpu/fake/fake.h"
#include <stdio.h>
#include <stdlib.h>

static void sum_run(const struct nn_kernel *kernel, uint64_t i)
{
    double parts[NN_KERNEL_THREADS][2];
    for (uint64_t thread = 0; thread < NN_KERNEL_THREADS; thread++) {
        parts[thread][0] = parts[thread][1] = 0;
        sum_part(kernel, i, thread, parts[thread]);
    }
    for (unsigned half = NN_KERNEL_THREADS / 2; half > 0; half /= 2)
        for (unsigned thread = 0; thread < half; thread++)
            for (int which = 0; which < 2; which++)
                parts[thread][which] += parts[thread + half][which];
    sum_end(kernel, i, parts[0]);
}

static void kernel_run(void *arg)
{
    struct nn_kernel kernel = *(const struct nn_kernel *)arg;
    for (int i = 0; i < NN_KERNEL_POINTERS; i++)
        kernel.at[i] = kernel.at[i] ? fake_reach_own(kernel.at[i]) : NULL;
    for (uint64_t i = 0; i < kernel.count; i++) {
        if (nn_kernel_sums(kernel.kind))
            sum_run(&kernel, i);
        else
            element_run(&kernel, i);
    }
}

int nn_cuda_launch(const struct nn_kernel *kernel, void *stream)
{
    struct nn_kernel *launch = malloc(sizeof *launch);
    if (!launch)
        abort();
    *launch = *kernel;
    for (int i = 0; i < NN_KERNEL_POINTERS; i++)
        if (kernel->at[i] && fake_device_with(kernel->at[i], 1) < 0) {
            (void)fprintf(stderr, "kernel %d: pointer %d is not in device memory\n",
                          (int)kernel->kind, i);
            abort();
        }
    return fake_launch(stream, kernel_run, launch);
}
