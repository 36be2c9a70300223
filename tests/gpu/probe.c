/* nccl_probe: what this project asks of NVML, CUDA and NCCL, one call after another in one process,
 * each with its time, and the first that fails named: whether it is the machine or Gangway that
 * does not work. "CUDA context" and "NCCL init" are what every rank pays before Gangway's own
 * start. Where no CUDA_VISIBLE_DEVICES says otherwise it chooses the first GPU by the name that
 * NVML gives it, as workers do. Ends with 1 where something failed.
 * `nccl_probe --gpu` prints only the name of the first GPU and its bytes in use, by NVML. */
#include "gpu/device/device.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 1 << 18, BYTES = COUNT * 4, INIT_MAX_S = 60 };

struct probe {
    cudaStream_t stream;
    cudaEvent_t event;
    ncclComm_t comm, part;
    ncclUniqueId id;
    void *plain, *shared, *handle; /* of cudaMalloc and ncclMemAlloc, and its registration */
    char text[256];                /* what failed */
};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* -- The GPUs, as workers see them ---------------------------------------------------------------
 */

static int list_devices(char uuid[GW_DEVICE_TEXT_MAX])
{
    struct gw_devices *devices;
    struct gw_device_state states[GW_DEVICES_MAX];
    struct gw_error error;
    size_t count;
    uuid[0] = '\0';
    if (gw_devices_open(getenv("GANGWAY_NVML"), &devices, &error) < 0) {
        printf("NVML: %s\n", error.text);
        return -1;
    }
    if (!devices) {
        printf("NVML: none here\n");
        return 0;
    }
    const struct gw_device *list = gw_devices_list(devices, &count);
    gw_devices_look(devices, states);
    for (size_t i = 0; i < count; i++)
        printf("%s  %s%s%s: %.1f GiB, %.1f used by %" PRIu32 " processes, %.0f W, %" PRIu32
               " %% busy, NVLink domain %" PRIu32 ", bridge %" PRIu32
               ", NUMA node %d, processors %s\n",
               list[i].uuid, list[i].name, *list[i].physical_gpu ? " of " : "",
               list[i].physical_gpu, (double)list[i].memory_bytes / (1 << 30),
               (double)states[i].used_bytes / (1 << 30), states[i].processes,
               states[i].power_mw / 1e3, states[i].busy_percent, list[i].nvlink_domain,
               list[i].bridge, list[i].numa_node, *list[i].cpus ? list[i].cpus : "?");
    if (gw_devices_left_out(devices))
        printf("left out: %s\n", gw_devices_left_out(devices));
    memcpy(uuid, list[0].uuid, GW_DEVICE_TEXT_MAX);
    gw_devices_close(devices);
    return 0;
}

static int print_first(void)
{
    struct gw_devices *devices;
    struct gw_device_state states[GW_DEVICES_MAX];
    struct gw_error error = {.text = "NVML: none here"};
    size_t count = 0;
    int rc = gw_devices_open(getenv("GANGWAY_NVML"), &devices, &error);
    const struct gw_device *list = rc == 0 && devices ? gw_devices_list(devices, &count) : NULL;
    if (count == 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    gw_devices_look(devices, states);
    printf("%s %" PRIu64 "\n", list[0].uuid, states[0].used_bytes);
    gw_devices_close(devices);
    return 0;
}

/* -- CUDA ----------------------------------------------------------------------------------------
 */

static int cuda_failed(struct probe *probe, cudaError_t rc)
{
    (void)snprintf(probe->text, sizeof probe->text, "%s (%d)", cudaGetErrorString(rc), (int)rc);
    return rc == cudaSuccess ? 0 : -1;
}

static int versions(struct probe *probe)
{
    int driver = 0, runtime = 0, nccl = 0;
    cudaError_t rc = cudaDriverGetVersion(&driver);
    if (rc == cudaSuccess)
        rc = cudaRuntimeGetVersion(&runtime);
    (void)ncclGetVersion(&nccl);
    printf("driver for CUDA %d.%d, CUDA runtime %d.%d, NCCL %d (built with %d)\n", driver / 1000,
           driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, nccl, NCCL_VERSION_CODE);
    printf("figure nccl %d.%d.%d\n", nccl / 10000, nccl / 100 % 100, nccl % 100);
    return cuda_failed(probe, rc);
}

static int device_count(struct probe *probe)
{
    int count = 0;
    cudaError_t rc = cudaGetDeviceCount(&count);
    printf("CUDA counts %d, CUDA_VISIBLE_DEVICES=%s\n", count, getenv("CUDA_VISIBLE_DEVICES"));
    return cuda_failed(probe, rc);
}

static int context(struct probe *probe)
{
    return cuda_failed(probe, cudaSetDevice(0));
}

static int streams(struct probe *probe)
{
    cudaError_t rc = cudaStreamCreateWithFlags(&probe->stream, cudaStreamNonBlocking);
    if (rc == cudaSuccess)
        rc = cudaEventCreateWithFlags(&probe->event, cudaEventDisableTiming);
    return cuda_failed(probe, rc);
}

/* Until the stream is idle, as the backend waits. */
static int settle(struct probe *probe)
{
    cudaError_t rc = cudaEventRecord(probe->event, probe->stream);
    while (rc == cudaSuccess && (rc = cudaEventQuery(probe->event)) == cudaErrorNotReady)
        rc = cudaSuccess;
    return cuda_failed(probe, rc);
}

static int is_of_device(struct probe *probe, const void *memory, int wanted)
{
    struct cudaPointerAttributes attributes = {.device = -1};
    cudaError_t rc = cudaPointerGetAttributes(&attributes, memory);
    if (cuda_failed(probe, rc) < 0)
        return -1;
    const int is = attributes.type == cudaMemoryTypeDevice && attributes.device == 0;
    (void)snprintf(probe->text, sizeof probe->text, "type %d of device %d", (int)attributes.type,
                   attributes.device);
    return is == wanted ? 0 : -1;
}

static int memory(struct probe *probe)
{
    static char back[BYTES];
    if (cuda_failed(probe, cudaMalloc(&probe->plain, BYTES)) < 0 ||
        is_of_device(probe, probe->plain, 1) < 0 || is_of_device(probe, back, 0) < 0 ||
        cuda_failed(probe, cudaMemsetAsync(probe->plain, 7, BYTES, probe->stream)) < 0 ||
        cuda_failed(probe, cudaMemcpyAsync(back, probe->plain, BYTES, cudaMemcpyDefault,
                                           probe->stream)) < 0 ||
        settle(probe) < 0)
        return -1;
    (void)snprintf(probe->text, sizeof probe->text, "%d came back", back[BYTES - 1]);
    return back[0] == 7 && back[BYTES - 1] == 7 ? 0 : -1;
}

/* -- NCCL ----------------------------------------------------------------------------------------
 */

static int nccl_failed(struct probe *probe, ncclResult_t rc)
{
    (void)snprintf(probe->text, sizeof probe->text, "%s (%d): %s", ncclGetErrorString(rc), (int)rc,
                   ncclGetLastError(NULL));
    return rc == ncclSuccess ? 0 : -1;
}

/* Until what was begun on a communicator is done. */
static int done(struct probe *probe, ncclComm_t comm, ncclResult_t began)
{
    ncclResult_t state = began;
    const double end_ms = now_ms() + INIT_MAX_S * 1e3;
    if (began != ncclSuccess && began != ncclInProgress)
        return nccl_failed(probe, began);
    do {
        ncclResult_t rc = ncclCommGetAsyncError(comm, &state);
        if (rc != ncclSuccess)
            return nccl_failed(probe, rc);
    } while (state == ncclInProgress && now_ms() < end_ms);
    return nccl_failed(probe, state);
}

static int unique_id(struct probe *probe)
{
    return nccl_failed(probe, ncclGetUniqueId(&probe->id));
}

static int init(struct probe *probe)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclResult_t began = ncclCommInitRankConfig(&probe->comm, 1, probe->id, 0, &config);
    return probe->comm ? done(probe, probe->comm, began) : nccl_failed(probe, began);
}

static int nccl_memory(struct probe *probe)
{
    if (nccl_failed(probe, ncclMemAlloc(&probe->shared, BYTES)) < 0 ||
        is_of_device(probe, probe->shared, 1) < 0)
        return -1;
    return nccl_failed(probe, ncclCommRegister(probe->comm, probe->shared, BYTES, &probe->handle));
}

static int all_reduce(struct probe *probe)
{
    static float back[COUNT];
    float *values = back;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i % 100);
    if (cuda_failed(probe, cudaMemcpyAsync(probe->plain, values, BYTES, cudaMemcpyDefault,
                                           probe->stream)) < 0 ||
        done(probe, probe->comm,
             ncclAllReduce(probe->plain, probe->shared, COUNT, ncclFloat32, ncclSum, probe->comm,
                           probe->stream)) < 0 ||
        cuda_failed(probe, cudaMemcpyAsync(back, probe->shared, BYTES, cudaMemcpyDefault,
                                           probe->stream)) < 0 ||
        settle(probe) < 0)
        return -1;
    (void)snprintf(probe->text, sizeof probe->text, "%g came back", (double)back[99]);
    return back[99] == 99 && back[COUNT - 1] == (float)((COUNT - 1) % 100) ? 0 : -1;
}

static int split(struct probe *probe)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (done(probe, probe->comm, ncclCommSplit(probe->comm, 1, 0, &probe->part, &config)) < 0)
        return -1;
    (void)snprintf(probe->text, sizeof probe->text, "no part");
    return probe->part ? done(probe, probe->part, ncclSuccess) : -1;
}

static int abort_part(struct probe *probe)
{
    return nccl_failed(probe, ncclCommAbort(probe->part));
}

static int end(struct probe *probe)
{
    if (nccl_failed(probe, ncclCommDeregister(probe->comm, probe->handle)) < 0 ||
        done(probe, probe->comm, ncclCommFinalize(probe->comm)) < 0 ||
        nccl_failed(probe, ncclCommDestroy(probe->comm)) < 0 ||
        nccl_failed(probe, ncclMemFree(probe->shared)) < 0 ||
        cuda_failed(probe, cudaFree(probe->plain)) < 0 ||
        cuda_failed(probe, cudaEventDestroy(probe->event)) < 0)
        return -1;
    return cuda_failed(probe, cudaStreamDestroy(probe->stream));
}

static const struct {
    const char *what;
    int (*run)(struct probe *probe);
} steps[] = {
    {"versions", versions},
    {"devices", device_count},
    {"CUDA context", context},
    {"a stream and an event", streams},
    {"device memory", memory},
    {"an id of NCCL", unique_id},
    {"NCCL init", init},
    {"NCCL memory, registered", nccl_memory},
    {"all_reduce", all_reduce},
    {"split", split},
    {"abort of the part", abort_part},
    {"finalize and free", end},
};

int main(int argc, char **argv)
{
    static struct probe probe;
    char uuid[GW_DEVICE_TEXT_MAX];
    if (argc > 1 && strcmp(argv[1], "--gpu") == 0)
        return print_first();
    int rc = list_devices(uuid);
    if (*uuid && !getenv("CUDA_VISIBLE_DEVICES"))
        (void)setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
    for (size_t i = 0; rc == 0 && i < sizeof steps / sizeof steps[0]; i++) {
        const double start_ms = now_ms();
        rc = steps[i].run(&probe);
        printf("%-24s %9.2f ms  %s%s\n", steps[i].what, now_ms() - start_ms,
               rc == 0 ? "ok" : "FAILED: ", rc == 0 ? "" : probe.text);
        (void)fflush(stdout);
    }
    return rc == 0 ? 0 : 1;
}
