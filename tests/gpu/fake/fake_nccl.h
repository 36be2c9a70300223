/* Between fake_nccl.c and fake_nccl_memory.c. */
#ifndef GW_TESTS_GPU_FAKE_FAKE_NCCL_H
#define GW_TESTS_GPU_FAKE_FAKE_NCCL_H

#include <nccl.h>
#include <stdbool.h>

/* fake_nccl_refuse returns rc, and remembers why. */
ncclResult_t fake_nccl_refuse(ncclResult_t rc, const char *why);

/* fake_nccl_must stops where the real one would do what nobody can foresee. */
void fake_nccl_must(bool fine, const char *what);

/* fake_nccl_enter checks that a communicator is free for a call, and that the device is its own. */
ncclResult_t fake_nccl_enter(ncclComm_t comm);

int fake_nccl_device(ncclComm_t comm);

/* fake_nccl_unregister takes out the registration of this handle, or, if it is NULL, all of a
 * communicator that ends; returns how many. */
int fake_nccl_unregister(ncclComm_t comm, const void *handle);

#endif
