/* The GPUs of this machine: what they are, how they are linked, and how they are doing. */
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

/* A GPU, or an instance of one that is partitioned (MIG), which is a device of its own: NVLink and
 * PCIe do not reach from one to another, so that each is an NVLink domain. */
struct gw_device {
    int index;              /* NVML's, by PCI bus: CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID */
    uint64_t memory_bytes;  /* in total */
    uint32_t nvlink_domain; /* devices of one number reach each other over NVLink ... */
    uint32_t bridge;        /* ... or without a way through the processor */
    int32_t numa_node;      /* -1: not known */
    char uuid[GW_DEVICE_TEXT_MAX]; /* "GPU-...", "MIG-...": what CUDA_VISIBLE_DEVICES takes */
    char name[GW_DEVICE_TEXT_MAX]; /* "NVIDIA A100-SXM4-40GB" */
    char cpus[GW_DEVICE_TEXT_MAX]; /* processors that are near: "0-15,32-47"; empty: not known */
    char physical_gpu[GW_DEVICE_TEXT_MAX]; /* of an instance: the UUID of its GPU; empty: it is a
                                              GPU */
};

/* How a device is doing. */
struct gw_device_state {
    bool lost; /* it fell off the bus, or wants a reset: nothing else is known */
    uint64_t used_bytes;
    uint32_t processes; /* that have a context there */
    uint32_t power_mw;  /* 0: not known; of an instance: its GPU's */
    uint32_t busy_percent;
    uint32_t xids[GW_DEVICE_XIDS_MAX]; /* errors (NVIDIA's numbers) since the last look */
    uint32_t xid_count;
};

struct gw_devices;

/* gw_devices_open lists the devices of this machine; *devices is NULL where there are none, which
 * is no error. GW_EIO: there is a driver that does not answer, or shows none of its devices, with
 * its words. library: what to
 * open as NVML, NULL: libnvidia-ml.so.1. Takes some tens of milliseconds with a driver; any thread,
 * one at a time. gw_devices_close accepts NULL. */
int gw_devices_open(const char *library, struct gw_devices **devices, struct gw_error *error);

/* gw_devices_left_out says which device is not in the list because the driver does not let this
 * process have it (the first of them, and why); NULL: none. Borrowed until close. */
const char *gw_devices_left_out(const struct gw_devices *devices);
void gw_devices_close(struct gw_devices *devices);

/* gw_devices_list gives them, borrowed until close, in an order by nearness: by NVLink domain, then
 * bridge, then NUMA node, then index, so that neighbours are near each other; instances come last.
 */
const struct gw_device *gw_devices_list(const struct gw_devices *devices, size_t *count);

/* gw_devices_keep leaves only one part of several in the list, which begin with part 0: as large as
 * each other, the first ones by one larger where they cannot be, and neighbours stay together. It
 * may be empty. Before the first look. */
void gw_devices_keep(struct gw_devices *devices, uint32_t part, uint32_t parts);

/* gw_devices_look writes how each is doing to states, which has room for all, in the order of the
 * list. Blocks for some milliseconds; any thread, one at a time. */
void gw_devices_look(struct gw_devices *devices, struct gw_device_state *states);

#endif
