/* The one symbol of libgangway-cuda.so, and what it leads to. libgangway opens the module where it
 * is installed and takes functions from here; nothing else of the module is visible. */
#ifndef GW_GPU_CUDA_MODULE_H
#define GW_GPU_CUDA_MODULE_H

#include <gangway/comm.h>

struct gw_cuda_module {
    /* Of the build: both sides share the structs of comm_backend.h, so it must be the same. */
    const char *version;

    /* Those of nccl_comm.h. */
    int (*device_check)(int device, struct gw_error *error);
    int (*comm_open)(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                     struct gw_error *error);
};

#define GW_CUDA_MODULE_FILE "libgangway-cuda.so"
#define GW_CUDA_MODULE_SYMBOL "gw_cuda_module"

/* gw_cuda_module returns the module's functions; static. */
GW_API const struct gw_cuda_module *gw_cuda_module(void);

#endif
