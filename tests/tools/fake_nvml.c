/* A replacement for libnvidia-ml.so.1: any GPUs with any faults, on machines without a GPU. The
 * file named by FAKE_NVML describes them, and is read again at each query, so that a test can
 * change it while a worker runs (by renaming another file over it). One item a line:
 *
 *     driver 9                   the result of nvmlInit (9: no driver)
 *     gpu GPU-a memory=1000 used=10 power=250000 busy=7 numa=0 cpus=f switch=1 nvlink=1 lost=1
 *     mig GPU-a MIG-1 memory=500 used=0        an instance: its GPU is partitioned
 *     process GPU-a 4711                       a context on a GPU or an instance
 *     xid GPU-a 79 1                           an error, reported once while its number is the
 *                                              largest
 *
 * refuses=4: the code with which this process is denied the GPU; fails=16: the code of its memory
 * query. nvlink=5: bits: linked to all GPUs with one of them; nvswitch=1: has links to a switch.
 * cpus: a hexadecimal mask. name=X; default: Fake. The first GPU also uses what the processes show
 * in the folder FAKE_CUDA_USED (tests/gpu/fake/fake_memory.c), as long as they live. */
#include "gpu/device/nvml.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { GPUS_MAX = 32, INSTANCES_MAX = 8, LINE_MAX_BYTES = 512 };

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct gw_nvml_memory *memory);
EXPORT int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, unsigned *level);
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct gw_nvml_pci *pci);
EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active);
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
                                               struct gw_nvml_pci *pci);
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, unsigned *type);
EXPORT int nvmlDeviceGetMemoryAffinity(void *device, unsigned words, unsigned long *nodes,
                                       unsigned scope);
EXPORT int nvmlDeviceGetCpuAffinity(void *device, unsigned words, unsigned long *cpus);
EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                   struct gw_nvml_process *processes);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct gw_nvml_utilization *utilization);
EXPORT int nvmlEventSetCreate(void **set);
EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set);
EXPORT int nvmlEventSetWait_v2(void *set, struct gw_nvml_event *event, unsigned timeout_ms);
EXPORT int nvmlEventSetFree(void *set);

enum {
    SUCCESS = 0,
    INVALID = 2,
    UNSUPPORTED = 3,
    NOT_FOUND = 6,
    TIMED_OUT = 10,
    LOST = 15,
    UNKNOWN = 999
};

/* A GPU or an instance of one. */
struct fake {
    char uuid[96], name[96];
    unsigned long long memory, used, power, busy, numa, cpus, bridge, nvlink, nvswitch, lost;
    unsigned long long refuses, fails;
    unsigned pids[16], pid_count;
    unsigned index, instances;
    bool there, is_registered;
    unsigned xid;
    unsigned long long xid_number, xid_told;
};

static struct fake gpus[GPUS_MAX], instances[GPUS_MAX][INSTANCES_MAX];
static unsigned gpu_count;
static int driver;
static char event_set;

static struct fake *find(const char *uuid)
{
    for (unsigned i = 0; i < gpu_count; i++) {
        if (strcmp(gpus[i].uuid, uuid) == 0)
            return &gpus[i];
        for (unsigned k = 0; k < gpus[i].instances; k++)
            if (strcmp(instances[i][k].uuid, uuid) == 0)
                return &instances[i][k];
    }
    return NULL;
}

/* The NAME=VALUE words of a line. */
static void read_words(struct fake *fake, char *rest)
{
    const struct {
        const char *name;
        unsigned long long *to;
        int base;
    } words[] = {
        {"memory", &fake->memory, 10},   {"used", &fake->used, 10},
        {"power", &fake->power, 10},     {"busy", &fake->busy, 10},
        {"numa", &fake->numa, 10},       {"cpus", &fake->cpus, 16},
        {"switch", &fake->bridge, 10},   {"nvlink", &fake->nvlink, 10},
        {"lost", &fake->lost, 10},       {"nvswitch", &fake->nvswitch, 10},
        {"refuses", &fake->refuses, 10}, {"fails", &fake->fails, 10},
    };
    char *save;
    for (char *word = strtok_r(rest, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = '\0';
        if (strcmp(word, "name") == 0)
            (void)snprintf(fake->name, sizeof fake->name, "%s", value);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strcmp(word, words[i].name) == 0)
                *words[i].to = strtoull(value, NULL, words[i].base);
    }
}

/* Items that are reported once survive a new reading. */
static void reset(struct fake *fake, const char *uuid, unsigned index)
{
    struct fake retained = *fake;
    *fake = (struct fake){.index = index,
                          .is_registered = retained.is_registered,
                          .xid_told = retained.xid_told,
                          .there = true};
    (void)snprintf(fake->uuid, sizeof fake->uuid, "%s", uuid);
    (void)snprintf(fake->name, sizeof fake->name, "Fake");
}

static void read_line(char *line)
{
    char what[16], uuid[96], other[96];
    unsigned number;
    unsigned long long count;
    int at = 0;
    if (sscanf(line, "driver %d", &driver) == 1)
        return;
    if (sscanf(line, "%15s %95s%n", what, uuid, &at) != 2)
        return;
    struct fake *fake = find(uuid);
    if (strcmp(what, "gpu") == 0 && gpu_count < GPUS_MAX) {
        reset(&gpus[gpu_count], uuid, gpu_count);
        read_words(&gpus[gpu_count++], line + at);
    } else if (!fake) {
        return;
    } else if (sscanf(line, "mig %95s %95s%n", uuid, other, &at) == 2 &&
               fake->instances < INSTANCES_MAX) {
        struct fake *instance = &instances[fake->index][fake->instances++];
        reset(instance, other, fake->index);
        read_words(instance, line + at);
    } else if (sscanf(line, "process %95s %u", uuid, &number) == 2 && fake->pid_count < 16) {
        fake->pids[fake->pid_count++] = number;
    } else if (sscanf(line, "xid %95s %u %llu", uuid, &number, &count) == 3) {
        fake->xid = number;
        fake->xid_number = count;
    }
}

static void look(void)
{
    char line[LINE_MAX_BYTES];
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file)
        return;
    gpu_count = 0;
    driver = 0;
    while (fgets(line, sizeof line, file))
        read_line(line);
    (void)fclose(file);
}

/* The device as described by the file now; NULL: it is lost. */
static struct fake *device_of(void *device)
{
    look();
    struct fake *fake = device;
    return fake->lost || gpus[fake->index].lost ? NULL : fake;
}

int nvmlInit_v2(void)
{
    look();
    return driver;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

const char *nvmlErrorString(int code)
{
    return code == UNKNOWN ? "Unknown Error" : "Fake Error";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    look();
    *count = gpu_count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= gpu_count)
        return INVALID;
    *device = &gpus[index];
    return (int)gpus[index].refuses;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    (void)snprintf(text, size, "%s", ((struct fake *)device)->uuid);
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *text, unsigned size)
{
    (void)snprintf(text, size, "%s", ((struct fake *)device)->name);
    return SUCCESS;
}

/* The bytes that living processes show: they lock their files. */
static unsigned long long shown(void)
{
    const char *path = getenv("FAKE_CUDA_USED");
    DIR *folder = path ? opendir(path) : NULL;
    unsigned long long all = 0;
    char text[32] = "";
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        const int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        if (file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
            pread(file, text, sizeof text - 1, 0) > 0)
            all += strtoull(text, NULL, 10);
        close(file);
    }
    if (folder)
        (void)closedir(folder);
    return all;
}

int nvmlDeviceGetMemoryInfo(void *device, struct gw_nvml_memory *memory)
{
    const struct fake *fake = device_of(device);
    if (!fake || fake->fails)
        return fake ? (int)fake->fails : LOST;
    const unsigned long long used = fake->used + (fake == &gpus[0] ? shown() : 0);
    *memory = (struct gw_nvml_memory){fake->memory, fake->memory - used, used};
    return SUCCESS;
}

int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, unsigned *level)
{
    const struct fake *x = a, *y = b;
    *level = x->bridge && x->bridge == y->bridge ? 10 : x->numa == y->numa ? 30 : 50;
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct gw_nvml_pci *pci)
{
    *pci = (struct gw_nvml_pci){.bus = ((struct fake *)device)->index + 1};
    (void)snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return SUCCESS;
}

/* Link k leads to GPU k, or all links lead to the switch. */
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active)
{
    const struct fake *fake = device;
    *active = fake->nvswitch || (fake->nvlink && link < gpu_count && link != fake->index &&
                                 gpus[link].nvlink & fake->nvlink);
    return SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct gw_nvml_pci *pci)
{
    (void)device;
    return nvmlDeviceGetPciInfo_v3(&gpus[link], pci);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, unsigned *type)
{
    (void)link;
    *type = ((struct fake *)device)->nvswitch ? GW_NVML_REMOTE_SWITCH : GW_NVML_REMOTE_GPU;
    return SUCCESS;
}

int nvmlDeviceGetMemoryAffinity(void *device, unsigned words, unsigned long *nodes, unsigned scope)
{
    (void)scope;
    memset(nodes, 0, words * sizeof *nodes);
    nodes[0] = 1UL << ((struct fake *)device)->numa;
    return SUCCESS;
}

int nvmlDeviceGetCpuAffinity(void *device, unsigned words, unsigned long *cpus)
{
    memset(cpus, 0, words * sizeof *cpus);
    cpus[0] = (unsigned long)((struct fake *)device)->cpus;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *pending)
{
    *now = *pending = ((struct fake *)device)->instances > 0;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    *count = ((struct fake *)device)->instances + 1; /* the last place is empty */
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance)
{
    const struct fake *fake = device;
    if (index >= fake->instances)
        return NOT_FOUND;
    *instance = &instances[fake->index][index];
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                            struct gw_nvml_process *processes)
{
    const struct fake *fake = device_of(device);
    if (!fake)
        return LOST;
    for (unsigned i = 0; i < fake->pid_count && i < *count; i++)
        processes[i] = (struct gw_nvml_process){.pid = fake->pids[i]};
    *count = fake->pid_count;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    const struct fake *fake = device_of(device);
    if (!fake)
        return LOST;
    *milliwatts = (unsigned)fake->power;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *device, struct gw_nvml_utilization *utilization)
{
    const struct fake *fake = device_of(device);
    if (!fake)
        return LOST;
    if (fake != &gpus[fake->index]) /* an instance */
        return UNSUPPORTED;
    *utilization = (struct gw_nvml_utilization){.gpu = (unsigned)fake->busy};
    return SUCCESS;
}

int nvmlEventSetCreate(void **set)
{
    *set = &event_set;
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    ((struct fake *)device)->is_registered = types == GW_NVML_EVENT_XID && set == &event_set;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, struct gw_nvml_event *event, unsigned timeout_ms)
{
    (void)set;
    (void)timeout_ms;
    look();
    for (unsigned i = 0; i < gpu_count; i++) {
        if (!gpus[i].is_registered || gpus[i].xid_number <= gpus[i].xid_told)
            continue;
        gpus[i].xid_told = gpus[i].xid_number;
        *event = (struct gw_nvml_event){&gpus[i], GW_NVML_EVENT_XID, gpus[i].xid, 0, 0};
        return SUCCESS;
    }
    return TIMED_OUT;
}

int nvmlEventSetFree(void *set)
{
    (void)set;
    return SUCCESS;
}
