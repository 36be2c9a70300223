/* Memory of the fake device: addresses that nobody can touch, and shadows behind them for copies
 * and for work on streams: who reads it from the host crashes, as with a real one.
 * FAKE_CUDA_MEMORY: how many bytes the devices have. FAKE_CUDA_USED: a folder in which each process
 * shows how many it uses, for the fake NVML. */
#include "tests/gpu/fake/fake_stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct block {
    struct block *next;
    char *memory; /* addresses */
    char *shadow; /* contents */
    size_t bytes;
    int device, is_nccl;
};

static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static size_t blocks_bytes;

static size_t page_up(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

static int has_room(size_t bytes)
{
    const char *memory = getenv("FAKE_CUDA_MEMORY");
    const size_t all = memory ? strtoull(memory, NULL, 10) : (size_t)1 << 40;
    return bytes <= all && blocks_bytes <= all - bytes;
}

/* Writes how much memory this process has into a file, which is locked while the process lives. The
 * mutex is held. */
static void used_write(void)
{
    static int file = -1;
    const char *folder = getenv("FAKE_CUDA_USED");
    char text[64];
    if (folder && file < 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        (void)snprintf(text, sizeof text, "%d", (int)getpid());
        const int at = open(folder, O_DIRECTORY | O_CLOEXEC);
        file = openat(at, text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || fcntl(file, F_SETLK, &lock) < 0)
            abort();
        close(at);
    }
    const int length = snprintf(text, sizeof text, "%20zu", blocks_bytes);
    if (folder && pwrite(file, text, (size_t)length, 0) != length)
        abort();
}

cudaError_t fake_alloc(void **memory, size_t bytes, int is_nccl)
{
    fake_counted(FAKE_ALLOC);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc != cudaSuccess)
        return rc;
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        abort();
    block->device = fake_device();
    block->is_nccl = is_nccl;
    pthread_mutex_lock(&blocks_mutex);
    if (has_room(bytes)) {
        block->bytes = bytes;
        block->memory = mmap(NULL, page_up(bytes), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        block->shadow = malloc(bytes);
        if (block->memory == MAP_FAILED || !block->shadow)
            abort();
        memset(block->shadow, 0x5a, bytes); /* a device's memory is not zeroed */
        block->next = blocks;
        blocks = block;
        blocks_bytes += bytes;
        used_write();
    }
    pthread_mutex_unlock(&blocks_mutex);
    *memory = block->memory;
    if (block->memory)
        return cudaSuccess;
    free(block);
    return fake_told(cudaErrorMemoryAllocation);
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    return fake_alloc(memory, bytes, 0);
}

/* Pinned memory of the host. */
struct pinned {
    struct pinned *next;
    size_t bytes;
    _Alignas(64) char memory[];
};

static struct pinned *pinned;

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    fake_counted(FAKE_ALLOC);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc == cudaSuccess && flags != cudaHostAllocMapped && flags != cudaHostAllocDefault)
        rc = fake_told(cudaErrorInvalidValue);
    if (rc != cudaSuccess)
        return rc;
    struct pinned *made = aligned_alloc(64, (sizeof *made + bytes + 63) / 64 * 64);
    if (!made)
        abort();
    made->bytes = bytes;
    pthread_mutex_lock(&blocks_mutex);
    made->next = pinned;
    pinned = made;
    pthread_mutex_unlock(&blocks_mutex);
    *memory = made->memory;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    fake_counted(FAKE_ALLOC);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc != cudaSuccess || !memory)
        return rc;
    pthread_mutex_lock(&blocks_mutex);
    struct pinned **link = &pinned;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    struct pinned *gone = *link;
    if (gone)
        *link = gone->next;
    pthread_mutex_unlock(&blocks_mutex);
    free(gone);
    return fake_told(gone ? cudaSuccess : cudaErrorInvalidValue);
}

int fake_is_pinned(const void *memory)
{
    pthread_mutex_lock(&blocks_mutex);
    const struct pinned *at = pinned;
    while (at &&
           ((const char *)memory < at->memory || (const char *)memory >= at->memory + at->bytes))
        at = at->next;
    pthread_mutex_unlock(&blocks_mutex);
    return at != NULL;
}

cudaError_t fake_free(void *memory, int is_nccl)
{
    fake_counted(FAKE_ALLOC);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc != cudaSuccess)
        return rc;
    pthread_mutex_lock(&blocks_mutex);
    struct block **link = &blocks;
    while (*link && ((*link)->memory != memory || (*link)->is_nccl != is_nccl))
        link = &(*link)->next;
    struct block *gone = *link;
    if (gone) {
        *link = gone->next;
        blocks_bytes -= gone->bytes;
        used_write();
    }
    pthread_mutex_unlock(&blocks_mutex);
    if (gone) {
        free(gone->shadow);
        munmap(gone->memory, page_up(gone->bytes));
    }
    free(gone);
    return fake_told(gone || !memory ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFree(void *memory)
{
    return fake_free(memory, 0);
}

/* The block that an address is in, or NULL; the mutex is held. */
static const struct block *block_of(const void *memory)
{
    const struct block *block = blocks;
    while (block && ((const char *)memory < block->memory ||
                     (const char *)memory >= block->memory + block->bytes))
        block = block->next;
    return block;
}

void *fake_reach(const void *memory)
{
    pthread_mutex_lock(&blocks_mutex);
    const struct block *block = block_of(memory);
    void *reached =
        block ? block->shadow + ((const char *)memory - block->memory) : (void *)(uintptr_t)memory;
    pthread_mutex_unlock(&blocks_mutex);
    return reached;
}

int fake_device_with(const void *memory, size_t bytes)
{
    pthread_mutex_lock(&blocks_mutex);
    const struct block *block = block_of(memory);
    const int device =
        block && bytes <= block->bytes &&
                (const char *)memory - block->memory <= (ptrdiff_t)(block->bytes - bytes)
            ? block->device
            : -1;
    pthread_mutex_unlock(&blocks_mutex);
    return device;
}
