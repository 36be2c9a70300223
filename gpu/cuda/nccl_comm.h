/* Communicators on NCCL, inside libgangway-cuda.so. */
#ifndef GW_GPU_CUDA_NCCL_COMM_H
#define GW_GPU_CUDA_NCCL_COMM_H

#include <gangway/comm.h>

/* gw_nccl_comm_device_check returns 0 where this process can use the GPU; GW_ENOTSUP, GW_EINVAL. */
int gw_nccl_comm_device_check(int device, struct gw_error *error);

/* gw_nccl_comm_open is gw_comm_open_nccl where every rank has the module and its GPU: same
 * contract.
 */
int gw_nccl_comm_open(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                      struct gw_error *error);

#endif
