/* Communicators of the NCCL backend, inside libgangway-cuda.so. */
#ifndef GW_GPU_CUDA_NCCL_COMM_H
#define GW_GPU_CUDA_NCCL_COMM_H

#include <gangway/comm.h>

/* gw_nccl_comm_device_check returns 0 if this process can use the GPU, else GW_ENOTSUP or
 * GW_EINVAL. */
int gw_nccl_comm_device_check(int device, struct gw_error *error);

/* gw_nccl_comm_open does the same as gw_comm_open_nccl, after all ranks have found the module and
 * their GPUs. */
int gw_nccl_comm_open(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                      struct gw_error *error);

#endif
