/* A device made of threads. Its memory is addresses that nobody can touch, and shadows behind them
 * for copies and for work on streams: who reads it from the host crashes, as with a real one. Work
 * on a stream happens later, on a thread: who forgets to wait sees old data. FAKE_CUDA_DEVICES: how
 * many there are (else as CUDA_VISIBLE_DEVICES counts, or 1); FAKE_CUDA_MEMORY: how many bytes each
 * has. */
#include "tests/gpu/fake/fake.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct work {
    struct work *next;
    void (*run)(void *arg);
    void *arg;
};

struct fake_stream {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct work *first, **last;
    uint64_t enqueued, done;
    int ends;
};

struct fake_event {
    cudaStream_t stream;
    uint64_t at; /* enqueued on it when the event was recorded */
};

struct block {
    struct block *next;
    char *memory; /* addresses */
    char *shadow; /* contents */
    size_t bytes;
};

static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static size_t blocks_bytes;

cudaError_t cudaGetDeviceCount(int *count)
{
    const char *devices = getenv("FAKE_CUDA_DEVICES"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    *count = devices ? atoi(devices) : 1;
    for (; !devices && visible && *visible; visible++)
        *count += *visible == ',';
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    return device >= 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    static const char *const texts[] = {"no error", "invalid value", "out of memory", "not ready",
                                        "no device"};
    return texts[error];
}

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

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        abort();
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
    }
    pthread_mutex_unlock(&blocks_mutex);
    *memory = block->memory;
    if (block->memory)
        return cudaSuccess;
    free(block);
    return cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    pthread_mutex_lock(&blocks_mutex);
    struct block **link = &blocks;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    struct block *gone = *link;
    if (gone) {
        *link = gone->next;
        blocks_bytes -= gone->bytes;
    }
    pthread_mutex_unlock(&blocks_mutex);
    if (gone) {
        free(gone->shadow);
        munmap(gone->memory, page_up(gone->bytes));
    }
    free(gone);
    return gone || !memory ? cudaSuccess : cudaErrorInvalidValue;
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

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
    pthread_mutex_lock(&blocks_mutex);
    attributes->type = block_of(memory) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    pthread_mutex_unlock(&blocks_mutex);
    return cudaSuccess;
}

/* -- Streams -------------------------------------------------------------------------------------
 */

static void *stream_main(void *arg)
{
    struct fake_stream *stream = arg;
    pthread_mutex_lock(&stream->mutex);
    for (;;) {
        while (!stream->first && !stream->ends)
            pthread_cond_wait(&stream->changed, &stream->mutex);
        struct work *work = stream->first;
        if (!work)
            break;
        stream->first = work->next;
        if (!stream->first)
            stream->last = &stream->first;
        pthread_mutex_unlock(&stream->mutex);
        work->run(work->arg);
        free(work->arg);
        free(work);
        pthread_mutex_lock(&stream->mutex);
        stream->done++;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    struct fake_stream *made = calloc(1, sizeof *made);
    if (!made || flags != cudaStreamNonBlocking)
        abort();
    made->last = &made->first;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    if (pthread_create(&made->thread, NULL, stream_main, made) != 0)
        abort();
    *stream = made;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    pthread_mutex_lock(&stream->mutex);
    stream->ends = 1;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    free(stream);
    return cudaSuccess;
}

void fake_enqueue(cudaStream_t stream, void (*run)(void *arg), void *arg)
{
    struct work *work = malloc(sizeof *work);
    if (!work)
        abort();
    *work = (struct work){.run = run, .arg = arg};
    pthread_mutex_lock(&stream->mutex);
    *stream->last = work;
    stream->last = &work->next;
    stream->enqueued++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    pthread_mutex_lock(&stream->mutex);
    const uint64_t all = stream->enqueued;
    while (stream->done < all)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
    return cudaSuccess;
}

/* -- Events --------------------------------------------------------------------------------------
 */

static pthread_mutex_t events_mutex = PTHREAD_MUTEX_INITIALIZER; /* what events hold */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = calloc(1, sizeof **event);
    if (!*event || flags != cudaEventDisableTiming)
        abort();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    pthread_mutex_lock(&events_mutex);
    pthread_mutex_lock(&stream->mutex);
    event->stream = stream;
    event->at = stream->enqueued;
    pthread_mutex_unlock(&stream->mutex);
    pthread_mutex_unlock(&events_mutex);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    pthread_mutex_lock(&event->stream->mutex);
    const int done = event->stream->done >= event->at;
    pthread_mutex_unlock(&event->stream->mutex);
    return done ? cudaSuccess : cudaErrorNotReady;
}

static void wait_run(void *arg)
{
    const struct fake_event *event = arg;
    struct fake_stream *stream = event->stream;
    pthread_mutex_lock(&stream->mutex);
    while (stream->done < event->at)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
}

/* For what the event holds now, whatever is recorded in it later. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    struct fake_event *copy = malloc(sizeof *copy);
    if (!copy || flags)
        abort();
    pthread_mutex_lock(&events_mutex);
    *copy = *event;
    pthread_mutex_unlock(&events_mutex);
    if (copy->stream && copy->stream != stream)
        fake_enqueue(stream, wait_run, copy);
    else
        free(copy);
    return cudaSuccess;
}

/* -- Holding collectives -------------------------------------------------------------------------
 */

static pthread_mutex_t hold_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;
static int is_held;

void fake_hold(int held)
{
    pthread_mutex_lock(&hold_mutex);
    is_held = held;
    pthread_cond_broadcast(&hold_changed);
    pthread_mutex_unlock(&hold_mutex);
}

void fake_hold_look(void)
{
    pthread_mutex_lock(&hold_mutex);
    pthread_cond_broadcast(&hold_changed);
    pthread_mutex_unlock(&hold_mutex);
}

int fake_pass(const _Atomic int *gone)
{
    pthread_mutex_lock(&hold_mutex);
    while (is_held && !atomic_load(gone))
        pthread_cond_wait(&hold_changed, &hold_mutex);
    pthread_mutex_unlock(&hold_mutex);
    return atomic_load(gone) ? -1 : 0;
}

/* -- Copies --------------------------------------------------------------------------------------
 */

struct copy {
    void *to;
    const void *from;
    size_t bytes;
    int value;
};

static void copy_run(void *arg)
{
    const struct copy *copy = arg;
    if (copy->from)
        memcpy(fake_reach(copy->to), fake_reach(copy->from), copy->bytes);
    else
        memset(fake_reach(copy->to), copy->value, copy->bytes);
}

static cudaError_t copy_enqueue(struct copy copy, cudaStream_t stream)
{
    struct copy *arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = copy;
    fake_enqueue(stream, copy_run, arg);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    return copy_enqueue((struct copy){.to = to, .from = from, .bytes = bytes}, stream);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    return copy_enqueue((struct copy){.to = memory, .value = value, .bytes = bytes}, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(fake_reach(to), fake_reach(from), bytes);
    return cudaSuccess;
}
