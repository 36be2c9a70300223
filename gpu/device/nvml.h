/* NVIDIA's management library (NVML), loaded at run time, so that one program works on machines
 * with and without GPUs. Names, numbers and layouts are those of nvml.h. NVIDIA never changes a
 * symbol that has a version in its name. */
#ifndef GW_GPU_NVML_H
#define GW_GPU_NVML_H

#include <gangway/error.h>

enum {
    GW_NVML_SUCCESS = 0,
    GW_NVML_INSUFFICIENT_SIZE = 7,
    GW_NVML_DRIVER_NOT_LOADED = 9,
    GW_NVML_LIBRARY_NOT_FOUND = 12,
    GW_NVML_GPU_IS_LOST = 15,
    GW_NVML_RESET_REQUIRED = 16,

    GW_NVML_LINKS_MAX = 18,
    GW_NVML_REMOTE_GPU = 0,
    GW_NVML_REMOTE_SWITCH = 2,
    GW_NVML_ANCESTOR_PCIE = 20, /* up to this level the path does not go through the CPU */
    GW_NVML_EVENT_XID = 8,
};

struct gw_nvml_memory {
    unsigned long long total, free, used;
};

struct gw_nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, ids, subsystem;
    char bus_id[32];
};

struct gw_nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct gw_nvml_utilization {
    unsigned gpu, memory;
};

struct gw_nvml_event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

/* The functions of NVML. Those after `memory` are NULL if the library is too old to have them. */
struct gw_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int code);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*uuid)(void *device, char *text, unsigned size);
    int (*name)(void *device, char *text, unsigned size);
    int (*memory)(void *device, struct gw_nvml_memory *memory);

    int (*ancestor)(void *a, void *b, unsigned *level);
    int (*pci)(void *device, struct gw_nvml_pci *pci);
    int (*link_state)(void *device, unsigned link, unsigned *active);
    int (*link_remote)(void *device, unsigned link, struct gw_nvml_pci *pci);
    int (*link_type)(void *device, unsigned link, unsigned *type);
    int (*nodes)(void *device, unsigned words, unsigned long *nodes, unsigned scope);
    int (*cpus)(void *device, unsigned words, unsigned long *cpus);
    int (*mig_mode)(void *device, unsigned *now, unsigned *pending);
    int (*mig_max)(void *device, unsigned *count);
    int (*mig_handle)(void *device, unsigned index, void **instance);
    int (*processes)(void *device, unsigned *count, struct gw_nvml_process *processes);
    int (*power)(void *device, unsigned *milliwatts);
    int (*utilization)(void *device, struct gw_nvml_utilization *utilization);
    int (*events_new)(void **set);
    int (*events_add)(void *device, unsigned long long types, void *set);
    int (*events_next)(void *set, struct gw_nvml_event *event, unsigned timeout_ms);
    int (*events_free)(void *set);
};

/* gw_nvml_open loads and initialises NVML. It returns 1 on success, and 0 if the machine has no
 * NVML or no driver. Returns GW_EIO with the driver's text if the driver does not answer. `library`
 * is the file to load; NULL means libnvidia-ml.so.1. With a driver the call takes some tens of
 * milliseconds. Any thread may call it. */
int gw_nvml_open(const char *library, struct gw_nvml *nvml, struct gw_error *error);
void gw_nvml_close(struct gw_nvml *nvml);

#endif
