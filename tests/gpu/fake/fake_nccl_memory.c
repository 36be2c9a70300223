/* Memory that the fake NCCL makes, and what is registered with a communicator. */
#include "tests/gpu/fake/fake.h"
#include "tests/gpu/fake/fake_nccl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct registration {
    struct registration *next;
    ncclComm_t comm;
    char *memory;
    size_t bytes;
};

static pthread_mutex_t registrations_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct registration *registrations;

int fake_nccl_unregister(ncclComm_t comm, const void *handle)
{
    int dropped = 0;
    pthread_mutex_lock(&registrations_mutex);
    for (struct registration **at = &registrations; *at;) {
        struct registration *one = *at;
        if (one->comm != comm || (handle && one != handle)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        free(one);
        dropped++;
    }
    pthread_mutex_unlock(&registrations_mutex);
    return dropped;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes, void **handle)
{
    struct registration *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    ncclResult_t rc = fake_nccl_enter(comm);
    if (rc == ncclSuccess &&
        (bytes == 0 || fake_device_with(memory, bytes) != fake_nccl_device(comm)))
        rc = fake_nccl_refuse(ncclInvalidArgument, "no memory of this device");
    if (rc != ncclSuccess) {
        free(made);
        return rc;
    }
    *made = (struct registration){.comm = comm, .memory = memory, .bytes = bytes};
    pthread_mutex_lock(&registrations_mutex);
    made->next = registrations;
    registrations = made;
    pthread_mutex_unlock(&registrations_mutex);
    *handle = made;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    return handle && fake_nccl_unregister(comm, handle) == 1 ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclMemAlloc(void **memory, size_t bytes)
{
    return fake_alloc(memory, bytes, 1) == cudaSuccess
               ? ncclSuccess
               : fake_nccl_refuse(ncclUnhandledCudaError, "Cuda failure 2 'out of memory'");
}

ncclResult_t ncclMemFree(void *memory)
{
    bool registered = false;
    pthread_mutex_lock(&registrations_mutex);
    for (const struct registration *one = registrations; one; one = one->next)
        registered = registered || one->memory == memory;
    pthread_mutex_unlock(&registrations_mutex);
    fake_nccl_must(!registered, "memory is freed while it is registered");
    return fake_free(memory, 1) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
