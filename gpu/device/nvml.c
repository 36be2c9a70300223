/* Loads NVML. The required functions must exist. Functions that only newer versions have may be
 * missing. */
#include "gpu/device/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct symbol {
    const char *name, *older; /* `older`: name of the function in earlier versions of the library,
                                 with the same arguments, or NULL */
    size_t offset;
    bool must;
};

#define MUST(field, name)                                                                          \
    {                                                                                              \
        name, NULL, offsetof(struct gw_nvml, field), true                                          \
    }
#define MAY(field, name)                                                                           \
    {                                                                                              \
        name, NULL, offsetof(struct gw_nvml, field), false                                         \
    }
#define MAY_OLDER(field, name, older)                                                              \
    {                                                                                              \
        name, older, offsetof(struct gw_nvml, field), false                                        \
    }

static const struct symbol symbols[] = {
    MUST(init, "nvmlInit_v2"),
    MUST(shutdown, "nvmlShutdown"),
    MUST(error_string, "nvmlErrorString"),
    MUST(count, "nvmlDeviceGetCount_v2"),
    MUST(handle, "nvmlDeviceGetHandleByIndex_v2"),
    MUST(uuid, "nvmlDeviceGetUUID"),
    MUST(name, "nvmlDeviceGetName"),
    MUST(memory, "nvmlDeviceGetMemoryInfo"),
    MAY(ancestor, "nvmlDeviceGetTopologyCommonAncestor"),
    MAY(pci, "nvmlDeviceGetPciInfo_v3"),
    MAY(link_state, "nvmlDeviceGetNvLinkState"),
    MAY(link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2"),
    MAY(link_type, "nvmlDeviceGetNvLinkRemoteDeviceType"),
    MAY(nodes, "nvmlDeviceGetMemoryAffinity"),
    MAY(cpus, "nvmlDeviceGetCpuAffinity"),
    MAY(mig_mode, "nvmlDeviceGetMigMode"),
    MAY(mig_max, "nvmlDeviceGetMaxMigDeviceCount"),
    MAY(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex"),
    MAY_OLDER(processes, "nvmlDeviceGetComputeRunningProcesses_v3",
              "nvmlDeviceGetComputeRunningProcesses_v2"),
    MAY(power, "nvmlDeviceGetPowerUsage"),
    MAY(utilization, "nvmlDeviceGetUtilizationRates"),
    MAY(events_new, "nvmlEventSetCreate"),
    MAY(events_add, "nvmlDeviceRegisterEvents"),
    MAY(events_next, "nvmlEventSetWait_v2"),
    MAY(events_free, "nvmlEventSetFree"),
};

/* Returns false if NVML is not installed or lacks a required function. */
static bool load(struct gw_nvml *nvml, const char *library)
{
    *nvml = (struct gw_nvml){
        .library = dlopen(library ? library : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!nvml->library)
        return false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(nvml->library, symbols[i].name);
        if (!address && symbols[i].older)
            address = dlsym(nvml->library, symbols[i].older);
        if (!address && symbols[i].must) {
            dlclose(nvml->library);
            return false;
        }
        memcpy((char *)nvml + symbols[i].offset, &address, sizeof address);
    }
    return true;
}

int gw_nvml_open(const char *library, struct gw_nvml *nvml, struct gw_error *error)
{
    if (!load(nvml, library))
        return 0;
    int rc = nvml->init();
    if (rc == GW_NVML_SUCCESS)
        return 1;
    int result = 0;
    if (rc != GW_NVML_DRIVER_NOT_LOADED && rc != GW_NVML_LIBRARY_NOT_FOUND)
        result =
            gw_error_set(error, GW_EIO, "the GPU driver (NVML) says: %s", nvml->error_string(rc));
    dlclose(nvml->library);
    return result;
}

void gw_nvml_close(struct gw_nvml *nvml)
{
    (void)nvml->shutdown();
    dlclose(nvml->library);
}
