/* The only exported symbol of libgangway-cuda.so, and the table of functions that it returns.
 * libgangway opens the module and calls its functions through this table. */
#ifndef GW_GPU_CUDA_MODULE_H
#define GW_GPU_CUDA_MODULE_H

#include <gangway/comm.h>

struct gw_kernel_device;
struct gw_side_copy_device;

struct gw_cuda_module {
    /* Version of the build. Both sides share the structs of comm_backend.h, so they must be from
     * the same build. */
    const char *version;

    /* The functions of nccl_comm.h. */
    int (*device_check)(int device, struct gw_error *error);
    int (*comm_open)(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                     struct gw_error *error);

    const struct gw_kernel_device *kernels;
    const struct gw_side_copy_device *side_copy;
};

#define GW_CUDA_MODULE_FILE "libgangway-cuda.so"
#define GW_CUDA_MODULE_SYMBOL "gw_cuda_module"

/* gw_cuda_module returns the table of functions. It is static. */
GW_API const struct gw_cuda_module *gw_cuda_module(void);

/* gw_comm_nccl_kernels returns the functions that run kernels of training on a device (part of
 * libgangway, as comm_nccl.c). They are static. Returns GW_ENOTSUP if the module cannot be used. */
int gw_comm_nccl_kernels(const struct gw_kernel_device **kernels, struct gw_error *error);

/* gw_comm_nccl_side_copy does the same with the functions of base/side_copy.h. */
int gw_comm_nccl_side_copy(const struct gw_side_copy_device **side_copy, struct gw_error *error);

/* The functions of side_copy.c. */
extern const struct gw_side_copy_device gw_side_copy_cuda;

#endif
