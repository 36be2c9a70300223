/* NVML is opened at run time: one program serves machines with and without GPUs. Of its interface
 * only what is declared here is used; names and numbers are those of nvml.h (its documentation says
 * that versioned symbols never change). */
#include "gpu/device.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int code);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*name)(void *device, char *text, unsigned size);
    int (*memory)(void *device, struct nvml_memory *memory);
};

/* Opens the library; false where there is none, or none that has what is needed. */
static bool nvml_load(struct nvml *nvml, const char *library)
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"nvmlInit_v2", &nvml->init},
        {"nvmlShutdown", &nvml->shutdown},
        {"nvmlErrorString", &nvml->error_string},
        {"nvmlDeviceGetCount_v2", &nvml->count},
        {"nvmlDeviceGetHandleByIndex_v2", &nvml->handle},
        {"nvmlDeviceGetUUID", &nvml->uuid},
        {"nvmlDeviceGetName", &nvml->name},
        {"nvmlDeviceGetMemoryInfo", &nvml->memory},
    };
    nvml->library = dlopen(library ? library : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return false;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(nvml->library, symbols[i].name);
        if (!symbol) {
            dlclose(nvml->library);
            return false;
        }
        memcpy(symbols[i].slot, &symbol, sizeof symbol);
    }
    return true;
}

static int device_read(const struct nvml *nvml, unsigned index, struct gw_device *device)
{
    struct nvml_memory memory;
    void *handle;
    *device = (struct gw_device){.index = (int)index};
    int rc = nvml->handle(index, &handle);
    if (rc == NVML_SUCCESS)
        rc = nvml->uuid(handle, device->uuid, sizeof device->uuid);
    if (rc == NVML_SUCCESS)
        rc = nvml->name(handle, device->name, sizeof device->name);
    if (rc == NVML_SUCCESS)
        rc = nvml->memory(handle, &memory);
    if (rc == NVML_SUCCESS)
        device->memory_bytes = memory.total;
    return rc;
}

int gw_device_list(const char *library, struct gw_device *devices, size_t room,
                   struct gw_error *error)
{
    struct nvml nvml;
    unsigned count = 0;
    if (!nvml_load(&nvml, library))
        return 0;

    int result = 0;
    int rc = nvml.init();
    if (rc == NVML_ERROR_DRIVER_NOT_LOADED || rc == NVML_ERROR_LIBRARY_NOT_FOUND) {
        dlclose(nvml.library);
        return 0;
    }
    const int init_rc = rc;
    if (rc == NVML_SUCCESS)
        rc = nvml.count(&count);
    for (unsigned i = 0; rc == NVML_SUCCESS && i < count && (size_t)result < room; i++) {
        rc = device_read(&nvml, i, &devices[result]);
        result++;
    }
    if (rc != NVML_SUCCESS)
        result =
            gw_error_set(error, GW_EIO, "the GPU driver (NVML) says: %s", nvml.error_string(rc));
    if (init_rc == NVML_SUCCESS)
        (void)nvml.shutdown();
    dlclose(nvml.library);
    return result;
}
