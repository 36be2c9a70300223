/* The GPUs of this machine as NVML describes them.
 *
 * NVML reports for each pair of GPUs how they are connected. This file derives a tree from that:
 * NVLink domains, GPUs below one PCIe switch, NUMA nodes. The list of devices is sorted by this
 * tree and does not change while it is open. A GPU that fails later stays in the list with the
 * state `lost`. A GPU that this process cannot use at the start (lost already, without power,
 * hidden by a container or a batch system) is left out, and the other GPUs are still usable. */
#include "gpu/device/device.h"

#include "gpu/device/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CPU_WORDS = 64,
    NODE_WORDS = 4,
    PROCESSES_MAX = 64,
    WORD_BITS = 8 * sizeof(unsigned long),
};

struct gw_devices {
    struct gw_nvml nvml;
    size_t count;
    struct gw_device list[GW_DEVICES_MAX];
    void *handles[GW_DEVICES_MAX];       /* NVML handle of each entry of list[] */
    void *physical_gpus[GW_DEVICES_MAX]; /* handle of the physical GPU of each entry of list[]; NVML
                                            reports errors by it */
    void *events;                        /* NULL: errors are not reported */
    char left_out[GW_DEVICE_TEXT_MAX];
    struct gw_device_state last[GW_DEVICES_MAX]; /* last known state of each entry of list[] */
};

/* A GPU while the list is built. If it has MIG instances, they are listed instead of it. */
struct physical_gpu {
    void *handle;
    struct gw_device device;
    char bus_id[32];
    bool on_switch;   /* has NVLinks to an NVSwitch */
    bool partitioned; /* has MIG instances and is not usable as a whole */
};

/* -- One GPU -------------------------------------------------------------------------------------
 */

static int read_identity(const struct gw_nvml *nvml, void *handle, struct gw_device *device)
{
    struct gw_nvml_memory memory;
    int rc = nvml->uuid(handle, device->uuid, sizeof device->uuid);
    if (rc == GW_NVML_SUCCESS)
        rc = nvml->name(handle, device->name, sizeof device->name);
    if (rc == GW_NVML_SUCCESS)
        rc = nvml->memory(handle, &memory);
    if (rc == GW_NVML_SUCCESS)
        device->memory_bytes = memory.total;
    return rc;
}

static bool has_bit(const unsigned long *words, unsigned bit)
{
    return words[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

/* Writes a list of CPUs such as "0-3,8". A range that does not fit is left out. */
static void write_cpus(const unsigned long *words, unsigned bits, char text[GW_DEVICE_TEXT_MAX])
{
    size_t used = 0;
    for (unsigned first = 0, end; first < bits; first = end + 1) {
        for (end = first; end < bits && has_bit(words, end);)
            end++;
        if (end == first)
            continue;
        char range[32];
        int length = end - first == 1 ? snprintf(range, sizeof range, "%u", first)
                                      : snprintf(range, sizeof range, "%u-%u", first, end - 1);
        if (used + (size_t)length + 2 > GW_DEVICE_TEXT_MAX)
            return;
        used += (size_t)snprintf(text + used, GW_DEVICE_TEXT_MAX - used, "%s%s", used ? "," : "",
                                 range);
    }
}

static void read_place(const struct gw_nvml *nvml, void *handle, struct gw_device *device)
{
    unsigned long cpus[CPU_WORDS] = {0}, nodes[NODE_WORDS] = {0};
    device->numa_node = -1;
    if (nvml->nodes && nvml->nodes(handle, NODE_WORDS, nodes, 0) == GW_NVML_SUCCESS)
        for (unsigned i = NODE_WORDS * WORD_BITS; i-- > 0;)
            if (has_bit(nodes, i))
                device->numa_node = (int32_t)i;
    if (nvml->cpus && nvml->cpus(handle, CPU_WORDS, cpus) == GW_NVML_SUCCESS)
        write_cpus(cpus, CPU_WORDS * WORD_BITS, device->cpus);
}

static bool is_partitioned(const struct gw_nvml *nvml, void *handle)
{
    unsigned now = 0, pending;
    return nvml->mig_mode && nvml->mig_max && nvml->mig_handle &&
           nvml->mig_mode(handle, &now, &pending) == GW_NVML_SUCCESS && now;
}

static int read_physical_gpu(const struct gw_nvml *nvml, unsigned index, struct physical_gpu *gpu)
{
    struct gw_nvml_pci pci = {0};
    *gpu = (struct physical_gpu){.device = {.index = (int)index}};
    int rc = nvml->handle(index, &gpu->handle);
    if (rc == GW_NVML_SUCCESS)
        rc = read_identity(nvml, gpu->handle, &gpu->device);
    if (rc != GW_NVML_SUCCESS)
        return rc;
    read_place(nvml, gpu->handle, &gpu->device);
    gpu->partitioned = is_partitioned(nvml, gpu->handle);
    if (nvml->pci && nvml->pci(gpu->handle, &pci) == GW_NVML_SUCCESS)
        (void)snprintf(gpu->bus_id, sizeof gpu->bus_id, "%.31s", pci.bus_id);
    gpu->device.nvlink_domain = gpu->device.bridge = index;
    return 0;
}

/* -- Nearness ------------------------------------------------------------------------------------
 */

/* Returns true if an NVLink of a ends at b. Also sets a->on_switch if a has links to a switch. */
static bool linked(const struct gw_nvml *nvml, struct physical_gpu *a, const struct physical_gpu *b)
{
    bool found = false;
    for (unsigned link = 0; nvml->link_state && link < GW_NVML_LINKS_MAX; link++) {
        unsigned active = 0, type = GW_NVML_REMOTE_GPU;
        struct gw_nvml_pci remote = {0};
        if (nvml->link_state(a->handle, link, &active) != GW_NVML_SUCCESS || !active)
            continue;
        if (nvml->link_type && nvml->link_type(a->handle, link, &type) == GW_NVML_SUCCESS &&
            type == GW_NVML_REMOTE_SWITCH) {
            a->on_switch = true;
            continue;
        }
        if (nvml->link_remote && nvml->link_remote(a->handle, link, &remote) == GW_NVML_SUCCESS &&
            *b->bus_id && strcmp(remote.bus_id, b->bus_id) == 0)
            found = true;
    }
    return found;
}

static bool bridged(const struct gw_nvml *nvml, const struct physical_gpu *a,
                    const struct physical_gpu *b)
{
    unsigned level;
    return nvml->ancestor && nvml->ancestor(a->handle, b->handle, &level) == GW_NVML_SUCCESS &&
           level <= GW_NVML_ANCESTOR_PCIE;
}

/* Merges two groups of GPUs. The smaller number stays. */
static void join(struct physical_gpu *gpus, unsigned count, uint32_t a, uint32_t b, bool nvlink)
{
    uint32_t least = a < b ? a : b, most = a < b ? b : a;
    for (unsigned i = 0; i < count; i++) {
        uint32_t *group = nvlink ? &gpus[i].device.nvlink_domain : &gpus[i].device.bridge;
        if (*group == most)
            *group = least;
    }
}

/* Groups the GPUs by NVLink and by PCIe switch. A partitioned GPU is in no group, because its
 * instances can use neither NVLink nor a PCIe switch to reach other devices. */
static void read_topology(const struct gw_nvml *nvml, struct physical_gpu *gpus, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++) {
            if (gpus[i].partitioned || gpus[k].partitioned)
                continue;
            if (i != k && linked(nvml, &gpus[i], &gpus[k]))
                join(gpus, count, gpus[i].device.nvlink_domain, gpus[k].device.nvlink_domain, true);
            if (k < i && bridged(nvml, &gpus[i], &gpus[k]))
                join(gpus, count, gpus[i].device.bridge, gpus[k].device.bridge, false);
        }
    for (unsigned i = 0; i < count; i++) /* GPUs on NVSwitches all reach each other */
        for (unsigned k = 0; k < i; k++)
            if (gpus[i].on_switch && gpus[k].on_switch)
                join(gpus, count, gpus[i].device.nvlink_domain, gpus[k].device.nvlink_domain, true);
}

/* -- The list ------------------------------------------------------------------------------------
 */

static void add(struct gw_devices *devices, const struct gw_device *device, void *handle,
                void *physical_gpu)
{
    if (devices->count == GW_DEVICES_MAX)
        return;
    devices->list[devices->count] = *device;
    devices->handles[devices->count] = handle;
    devices->physical_gpus[devices->count++] = physical_gpu;
}

/* Only the first one is reported. */
static void leave_out(struct gw_devices *devices, int index, int rc)
{
    if (!*devices->left_out)
        (void)snprintf(devices->left_out, sizeof devices->left_out, "GPU %d: the driver says: %s",
                       index, devices->nvml.error_string(rc));
}

/* Adds the MIG instances of a GPU. Each instance has an NVLink domain and a PCIe group of its own,
 * with numbers after those of all GPUs. */
static void add_instances(struct gw_devices *devices, const struct physical_gpu *gpu)
{
    const struct gw_nvml *nvml = &devices->nvml;
    unsigned count = 0;
    if (nvml->mig_max(gpu->handle, &count) != GW_NVML_SUCCESS)
        count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct gw_device device = gpu->device;
        void *handle;
        if (nvml->mig_handle(gpu->handle, i, &handle) != GW_NVML_SUCCESS)
            continue; /* no instance at this index */
        int rc = read_identity(nvml, handle, &device);
        if (rc != GW_NVML_SUCCESS) {
            leave_out(devices, gpu->device.index, rc);
            continue;
        }
        memcpy(device.physical_gpu, gpu->device.uuid, sizeof device.physical_gpu);
        device.nvlink_domain = device.bridge = GW_DEVICES_MAX + (uint32_t)devices->count;
        add(devices, &device, handle, gpu->handle);
    }
}

static int by_nearness(const void *a, const void *b)
{
    const struct gw_device *x = &((const struct physical_gpu *)a)->device;
    const struct gw_device *y = &((const struct physical_gpu *)b)->device;
    bool partitioned = ((const struct physical_gpu *)a)->partitioned;
    if (partitioned != ((const struct physical_gpu *)b)->partitioned)
        return partitioned ? 1 : -1;
    if (partitioned)
        return x->numa_node != y->numa_node ? (x->numa_node < y->numa_node ? -1 : 1)
                                            : (x->index < y->index ? -1 : 1);
    if (x->nvlink_domain != y->nvlink_domain)
        return x->nvlink_domain < y->nvlink_domain ? -1 : 1;
    if (x->bridge != y->bridge)
        return x->bridge < y->bridge ? -1 : 1;
    if (x->numa_node != y->numa_node)
        return x->numa_node < y->numa_node ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int read_list(struct gw_devices *devices)
{
    static _Thread_local struct physical_gpu gpus[GW_DEVICES_MAX];
    const struct gw_nvml *nvml = &devices->nvml;
    unsigned in_all = 0, count = 0;
    int rc = nvml->count(&in_all);
    if (rc != GW_NVML_SUCCESS)
        return rc;
    for (unsigned i = 0; i < in_all && i < GW_DEVICES_MAX; i++) {
        int gpu_rc = read_physical_gpu(nvml, i, &gpus[count]);
        if (gpu_rc == GW_NVML_SUCCESS) {
            count++;
            continue;
        }
        leave_out(devices, (int)i, gpu_rc);
        rc = rc == GW_NVML_SUCCESS ? gpu_rc : rc;
    }
    if (count == 0)
        return rc;
    read_topology(nvml, gpus, count);
    qsort(gpus, count, sizeof *gpus, by_nearness);
    for (unsigned i = 0; i < count; i++)
        if (gpus[i].partitioned)
            add_instances(devices, &gpus[i]);
        else
            add(devices, &gpus[i].device, gpus[i].handle, gpus[i].handle);
    return GW_NVML_SUCCESS;
}

static void open_events(struct gw_devices *devices)
{
    const struct gw_nvml *nvml = &devices->nvml;
    if (!nvml->events_new || !nvml->events_add || !nvml->events_next || !nvml->events_free ||
        nvml->events_new(&devices->events) != GW_NVML_SUCCESS) {
        devices->events = NULL;
        return;
    }
    for (size_t i = 0; i < devices->count; i++)
        if (i == 0 || devices->physical_gpus[i] != devices->physical_gpus[i - 1])
            (void)nvml->events_add(devices->physical_gpus[i], GW_NVML_EVENT_XID, devices->events);
}

int gw_devices_open(const char *library, struct gw_devices **opened, struct gw_error *error)
{
    struct gw_nvml nvml;
    int rc = gw_nvml_open(library, &nvml, error);
    if (rc <= 0) {
        if (rc == 0)
            *opened = NULL;
        return rc;
    }
    struct gw_devices *devices = calloc(1, sizeof *devices);
    if (!devices) {
        gw_nvml_close(&nvml);
        return gw_error_set(error, GW_ENOMEM, "no memory for a list of GPUs");
    }
    devices->nvml = nvml;
    rc = read_list(devices);
    if (rc != GW_NVML_SUCCESS || devices->count == 0) {
        int result = rc == GW_NVML_SUCCESS
                         ? 0
                         : gw_error_set(error, GW_EIO, "the GPU driver (NVML) says: %s",
                                        nvml.error_string(rc));
        gw_devices_close(devices);
        if (result == 0)
            *opened = NULL;
        return result;
    }
    open_events(devices);
    *opened = devices;
    return 0;
}

const char *gw_devices_left_out(const struct gw_devices *devices)
{
    return *devices->left_out ? devices->left_out : NULL;
}

void gw_devices_close(struct gw_devices *devices)
{
    if (!devices)
        return;
    if (devices->events)
        (void)devices->nvml.events_free(devices->events);
    gw_nvml_close(&devices->nvml);
    free(devices);
}

const struct gw_device *gw_devices_list(const struct gw_devices *devices, size_t *count)
{
    *count = devices->count;
    return devices->list;
}

void gw_devices_select_part(struct gw_devices *devices, uint32_t part, uint32_t parts)
{
    const size_t each = devices->count / parts, larger = devices->count % parts;
    const size_t first = part * each + (part < larger ? part : larger);
    devices->count = each + (part < larger);
    memmove(devices->list, devices->list + first, devices->count * sizeof *devices->list);
    memmove(devices->handles, devices->handles + first, devices->count * sizeof *devices->handles);
    memmove(devices->physical_gpus, devices->physical_gpus + first,
            devices->count * sizeof *devices->physical_gpus);
}

/* -- How they are doing --------------------------------------------------------------------------
 */

/* Reads the state of a device. A value that the driver does not report this time keeps its last
 * value. Otherwise memory in use would look free. */
static void look_at(const struct gw_nvml *nvml, void *handle, void *physical_gpu,
                    struct gw_device_state *state)
{
    struct gw_nvml_memory memory;
    struct gw_nvml_process processes[PROCESSES_MAX];
    struct gw_nvml_utilization utilization;
    unsigned count = PROCESSES_MAX;
    int rc = nvml->memory(handle, &memory);
    if (rc == GW_NVML_GPU_IS_LOST || rc == GW_NVML_RESET_REQUIRED) {
        *state = (struct gw_device_state){.lost = true};
        return;
    }
    if (rc == GW_NVML_SUCCESS)
        state->used_bytes = memory.used;
    rc = nvml->processes ? nvml->processes(handle, &count, processes) : GW_NVML_GPU_IS_LOST;
    if (rc == GW_NVML_SUCCESS || rc == GW_NVML_INSUFFICIENT_SIZE)
        state->processes = count;
    if (!nvml->power || nvml->power(physical_gpu, &state->power_mw) != GW_NVML_SUCCESS)
        state->power_mw = 0;
    state->busy_percent =
        nvml->utilization && nvml->utilization(handle, &utilization) == GW_NVML_SUCCESS
            ? utilization.gpu
            : GW_DEVICE_BUSY_UNKNOWN;
}

void gw_devices_look(struct gw_devices *devices, struct gw_device_state *states)
{
    struct gw_nvml_event event;
    for (size_t i = 0; i < devices->count; i++) {
        struct gw_device_state *last = &devices->last[i];
        states[i] =
            (struct gw_device_state){.used_bytes = last->used_bytes, .processes = last->processes};
        look_at(&devices->nvml, devices->handles[i], devices->physical_gpus[i], &states[i]);
        *last = states[i];
    }
    for (int left = GW_DEVICES_MAX * GW_DEVICE_XIDS_MAX;
         left > 0 && devices->events &&
         devices->nvml.events_next(devices->events, &event, 0) == GW_NVML_SUCCESS;
         left--)
        for (size_t i = 0; i < devices->count; i++) {
            struct gw_device_state *state = &states[i];
            if (devices->physical_gpus[i] == event.device && event.type == GW_NVML_EVENT_XID &&
                state->xid_count < GW_DEVICE_XIDS_MAX)
                state->xids[state->xid_count++] = (uint32_t)event.data;
        }
}
