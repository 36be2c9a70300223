/* A device of host memory. What was allocated is known, so that pointers can be told apart; work on
 * a stream happens later, on a thread, as on a device: who forgets to wait sees old data. */
#include "tests/gpu/fake/fake.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    char *memory;
    size_t bytes;
};

static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;

cudaError_t cudaGetDeviceCount(int *count)
{
    const char *devices = getenv("FAKE_CUDA_DEVICES");
    *count = devices ? atoi(devices) : 1;
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

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    struct block *block = malloc(sizeof *block);
    if (bytes > (size_t)1 << 40 || !block ||
        posix_memalign((void **)&block->memory, 4096, bytes) != 0) {
        free(block);
        return cudaErrorMemoryAllocation;
    }
    memset(block->memory, 0x5a, bytes); /* a device's memory is not zeroed */
    block->bytes = bytes;
    pthread_mutex_lock(&blocks_mutex);
    block->next = blocks;
    blocks = block;
    pthread_mutex_unlock(&blocks_mutex);
    *memory = block->memory;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    pthread_mutex_lock(&blocks_mutex);
    struct block **link = &blocks;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    struct block *gone = *link;
    if (gone)
        *link = gone->next;
    pthread_mutex_unlock(&blocks_mutex);
    if (gone)
        free(gone->memory);
    free(gone);
    return gone || !memory ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
    attributes->type = cudaMemoryTypeUnregistered;
    pthread_mutex_lock(&blocks_mutex);
    for (const struct block *block = blocks; block; block = block->next)
        if ((const char *)memory >= block->memory &&
            (const char *)memory < block->memory + block->bytes)
            attributes->type = cudaMemoryTypeDevice;
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
    pthread_mutex_lock(&stream->mutex);
    event->stream = stream;
    event->at = stream->enqueued;
    pthread_mutex_unlock(&stream->mutex);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    pthread_mutex_lock(&event->stream->mutex);
    const int done = event->stream->done >= event->at;
    pthread_mutex_unlock(&event->stream->mutex);
    return done ? cudaSuccess : cudaErrorNotReady;
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
        memcpy(copy->to, copy->from, copy->bytes);
    else
        memset(copy->to, copy->value, copy->bytes);
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
    memcpy(to, from, bytes);
    return cudaSuccess;
}
