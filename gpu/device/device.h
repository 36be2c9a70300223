/* The GPUs of this machine: their properties, how they are connected, and their present state. */
#ifndef GW_GPU_DEVICE_H
#define GW_GPU_DEVICE_H

#include <gangway/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GW_DEVICE_TEXT_MAX = 96,
    GW_DEVICES_MAX = 64,
    GW_DEVICE_XIDS_MAX = 4,
};

/* A GPU, or a MIG instance of a partitioned GPU. An instance is a device of its own, and an NVLink
 * domain of its own, because instances do not reach other devices by NVLink or PCIe. */
struct gw_device {
    int index;                     /* NVML's index, ordered by PCI bus; equal to CUDA's with
                                      CUDA_DEVICE_ORDER=PCI_BUS_ID */
    uint64_t memory_bytes;         /* total memory */
    uint32_t nvlink_domain;        /* devices with the same number are connected by NVLink */
    uint32_t bridge;               /* devices with the same number are below one PCIe switch */
    int32_t numa_node;             /* -1: unknown */
    char uuid[GW_DEVICE_TEXT_MAX]; /* "GPU-..." or "MIG-...", as in CUDA_VISIBLE_DEVICES */
    char name[GW_DEVICE_TEXT_MAX]; /* "NVIDIA A100-SXM4-40GB" */
    char cpus[GW_DEVICE_TEXT_MAX]; /* CPUs near the device: "0-15,32-47"; empty: unknown */
    char physical_gpu[GW_DEVICE_TEXT_MAX]; /* if this device is a MIG instance, the UUID of its
                                              physical GPU; empty: the device is a whole GPU */
};

#define GW_DEVICE_BUSY_UNKNOWN UINT32_MAX

/* The present state of a device. */
struct gw_device_state {
    bool lost; /* the device failed or needs a reset; the other fields are then 0 */
    uint64_t used_bytes;
    uint32_t processes;    /* number of processes with a context on the device */
    uint32_t power_mw;     /* 0: unknown; of an instance: the power of its GPU */
    uint32_t busy_percent; /* GW_DEVICE_BUSY_UNKNOWN: the driver does not say, as of an instance */
    uint32_t xids[GW_DEVICE_XIDS_MAX]; /* error numbers of NVIDIA since the last call */
    uint32_t xid_count;
};

struct gw_devices;

/* gw_devices_open lists the devices of this machine. On a machine without devices it sets *devices
 * to NULL and returns 0. Returns GW_EIO with the driver's text if the driver does not answer or
 * shows none of its devices. `library` is the file to load as NVML; NULL means libnvidia-ml.so.1.
 * With a driver the call takes some tens of milliseconds. Any thread may call it, one at a time.
 * gw_devices_close accepts NULL. */
int gw_devices_open(const char *library, struct gw_devices **devices, struct gw_error *error);

/* gw_devices_left_out returns the first device that is not in the list because this process may not
 * use it, with the reason, or NULL if there is none. The text is borrowed until close. */
const char *gw_devices_left_out(const struct gw_devices *devices);
void gw_devices_close(struct gw_devices *devices);

/* gw_devices_list returns the devices, borrowed until close. They are sorted by NVLink domain, then
 * PCIe switch, then NUMA node, then index, so that neighbours in the list are near each other.
 * Instances come last. */
const struct gw_device *gw_devices_list(const struct gw_devices *devices, size_t *count);

/* gw_devices_select_part divides the list into `parts` parts and keeps only number `part`, counted
 * from 0. Devices that are neighbours stay together. If the number of devices is not a multiple of
 * `parts`, the first parts have one device more. A part may be empty. Call it before
 * gw_devices_look. */
void gw_devices_select_part(struct gw_devices *devices, uint32_t part, uint32_t parts);

/* gw_devices_look writes the state of each device to states, in the order of the list. states must
 * have room for all devices. The call blocks for some milliseconds. Any thread may call it, one at
 * a time. */
void gw_devices_look(struct gw_devices *devices, struct gw_device_state *states);

#endif
