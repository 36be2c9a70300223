/* A stand-in for libnvidia-ml.so.1 on machines without a GPU, for test_device: two devices, or what
 * FAKE_NVML names: "none" (no driver) or "broken" (a driver that does not answer). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct memory {
    unsigned long long total, free, used;
};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned size);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);

static int is_mode(const char *mode)
{
    const char *set = getenv("FAKE_NVML");
    return set && strcmp(set, mode) == 0;
}

static char devices[2];

int nvmlInit_v2(void)
{
    return is_mode("none") ? 9 : is_mode("broken") ? 999 : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(int code)
{
    return code == 999 ? "Unknown Error" : "?";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &devices[index];
    return 0;
}

static int text_write(void *device, const char *what, char *text, unsigned size)
{
    (void)snprintf(text, size, "%s-%d", what, (int)((char *)device - devices));
    return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    return text_write(device, "GPU-0000", text, size);
}

int nvmlDeviceGetName(void *device, char *text, unsigned size)
{
    return text_write(device, "Fake", text, size);
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    *memory = (struct memory){.total = 1000ULL + (unsigned)((char *)device - devices)};
    return 0;
}
