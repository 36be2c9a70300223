/* Loads libnn-cuda.so, and agrees with the other ranks that all have it and a GPU. */
#include "examples/nn/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE "libnn-cuda.so"

static void *open_in(const char *folder, const char *below)
{
    char path[PATH_MAX];
    return folder && snprintf(path, sizeof path, "%s%s/" MODULE, folder, below) < (int)sizeof path
               ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
               : NULL;
}

/* The module is beside the program, or in lib/ beside its folder. A program that was sent to a
 * worker comes without it; the folder of the worker's own program has it. */
static void *module_open(void)
{
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    const char *const folders[] = {own, getenv("GANGWAY_BINARY_DIR")};
    void *module = NULL;
    for (int i = 0; i < 4 && !module; i++)
        module = open_in(folders[i / 2], i % 2 ? "/../lib" : "");
    return module ? module : dlopen(MODULE, RTLD_NOW | RTLD_LOCAL);
}

static int open_alone(struct nn_device **device, struct gw_error *error)
{
    int (*open)(struct nn_device **, struct gw_error *) = NULL;
    void *module = module_open(), *symbol = NULL;
    if (!module)
        return gw_error_set(error, GW_ENOTSUP, "%s (the preset cuda builds it)", dlerror());
    symbol = dlsym(module, "nn_cuda_open");
    memcpy(&open, &symbol, sizeof open);
    int rc = symbol ? open(device, error)
                    : gw_error_set(error, GW_ENOTSUP, MODULE " is none of this program");
    if (rc == 0 && (*device)->kind->real_bytes != sizeof(nn_real))
        rc = gw_error_set(error, GW_ENOTSUP, MODULE " computes in another type");
    return rc;
}

int nn_device_open(struct gw_comm *comm, struct nn_device **device, struct gw_error *error)
{
    const int ranks = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct nn_device *opened = NULL;
    struct gw_error own = {.code = 0};
    struct {
        int32_t code;
        char text[sizeof own.text];
    } failure = {0};
    void *stream;
    /* The first rank that has no GPU; then the first whose communicator does not reach it. */
    int32_t first = 2 * ranks;
    if ((failure.code = open_alone(&opened, &own)) < 0)
        first = rank;
    else if ((failure.code = gw_comm_stream(comm, &stream, &own)) < 0)
        first = ranks + rank;
    memcpy(failure.text, own.text, sizeof own.text);
    int rc = gw_comm_all_reduce(
        comm,
        GW_COMM_ARGS(.recv = &first, .count = 1, .dtype = GW_DTYPE_I32, .reduce = GW_REDUCE_MIN),
        error);
    if (rc == 0 && first == 2 * ranks) {
        *device = opened;
        return 0;
    }
    first %= ranks;
    if (rc == 0)
        rc = gw_comm_broadcast(comm,
                               GW_COMM_ARGS(.recv = &failure, .count = sizeof failure,
                                            .root = first, .dtype = GW_DTYPE_U8),
                               error);
    if (rc == 0)
        rc = gw_error_set(error, failure.code, "rank %d cannot use a GPU: %s", (int)first,
                          failure.text);
    nn_device_close(opened);
    return rc;
}

int nn_precision_read(const char *name, enum nn_precision *precision, struct gw_error *error)
{
    static const char *const names[] = {[NN_F32] = "f32", [NN_BF16] = "bf16", [NN_F16] = "f16"};
    for (int i = NN_F32; i <= NN_F16; i++)
        if (strcmp(name, names[i]) == 0) {
            *precision = (enum nn_precision)i;
            return 0;
        }
    return gw_error_set(error, GW_EINVAL, "there is no precision \"%s\": f32, bf16 or f16", name);
}

void nn_device_close(struct nn_device *device)
{
    if (device)
        device->kind->close(device);
}

void *nn_device_alloc(struct nn_device *device, size_t bytes)
{
    void *memory = device->error.code == 0 ? device->kind->alloc(device, bytes) : NULL;
    if (memory)
        nn_device_zero(device, memory, bytes);
    return memory;
}

void nn_device_release(struct nn_device *device, void *memory)
{
    if (memory)
        device->kind->release(device, memory);
}

void nn_device_copy(struct nn_device *device, void *to, const void *from, size_t bytes)
{
    if (device->error.code == 0 && bytes > 0)
        device->kind->copy(device, to, from, bytes);
}

void nn_device_zero(struct nn_device *device, void *memory, size_t bytes)
{
    if (device->error.code == 0 && bytes > 0)
        device->kind->zero(device, memory, bytes);
}

void nn_device_product(struct nn_device *device, const struct nn_product *product)
{
    if (device->error.code == 0 && product->m > 0 && product->n > 0)
        device->kind->product(device, product);
}

void nn_device_run(struct nn_device *device, const struct nn_kernel *kernel)
{
    if (device->error.code == 0 && kernel->count > 0)
        device->kind->run(device, kernel);
}

int nn_device_wait(struct nn_device *device, struct gw_error *error)
{
    if (device->error.code == 0)
        device->kind->wait(device);
    return device->error.code == 0
               ? 0
               : gw_error_set(error, device->error.code, "%s", device->error.text);
}
