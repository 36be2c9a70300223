/* The GPUs of this machine, as NVIDIA's management library (NVML) lists them. */
#ifndef GW_GPU_DEVICE_H
#define GW_GPU_DEVICE_H

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GW_DEVICE_TEXT_MAX = 96,
    GW_DEVICES_MAX = 64,
};

struct gw_device {
    int index;             /* NVML's, by PCI bus: CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID */
    uint64_t memory_bytes; /* in total */
    char uuid[GW_DEVICE_TEXT_MAX]; /* "GPU-...", what CUDA_VISIBLE_DEVICES takes */
    char name[GW_DEVICE_TEXT_MAX]; /* "NVIDIA A100-SXM4-40GB" */
};

/* gw_device_list writes up to `room` GPUs to devices[room] and returns how many it wrote. A machine
 * without the library or without a driver has 0, which is no error. GW_EIO: there is a driver that
 * does not answer, with its words. library: what to open, NULL: libnvidia-ml.so.1. Takes some tens
 * of milliseconds with a driver; any thread. */
int gw_device_list(const char *library, struct gw_device *devices, size_t room,
                   struct gw_error *error);

#endif
