/* A device made of threads. Work on a stream happens later, on a thread, and that of the default
 * stream only when it is waited for: who forgets to wait sees old data. As with the real one a
 * forked child of who used it cannot, an event belongs to streams of its device, kernels to streams
 * of the current device and to its memory, each device has a default stream, copies end where
 * memory does, and only events that were made for it have times. After a kernel that traps, every
 * call fails. fake_memory.c has the memory, fake_graph.c captures graphs.
 * FAKE_CUDA_DEVICES: how many there are (else as CUDA_VISIBLE_DEVICES counts, or 1). */
#include "tests/gpu/fake/fake_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES_MAX = 16 };

static _Thread_local int current;       /* device */
static _Thread_local cudaError_t error; /* the last one */

cudaError_t fake_told(cudaError_t rc)
{
    if (rc != cudaSuccess)
        error = rc;
    return rc;
}

static int device_count(void)
{
    const char *devices = getenv("FAKE_CUDA_DEVICES"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    int count = devices ? atoi(devices) : 1;
    for (; !devices && visible && *visible; visible++)
        count += *visible == ',';
    if (count > DEVICES_MAX)
        abort();
    return count;
}

static _Atomic unsigned counts[FAKE_CALLS];

void fake_counted(enum fake_call call)
{
    atomic_fetch_add(&counts[call], 1);
}

unsigned fake_count(enum fake_call call)
{
    return atomic_load(&counts[call]);
}

static _Atomic int is_trapped;

void fake_trap(void)
{
    atomic_store(&is_trapped, 1);
}

/* The result of a call that saw the end of work: not that of work behind a kernel that trapped. */
static cudaError_t ended(void)
{
    return fake_told(atomic_load(&is_trapped) ? cudaErrorIllegalAddress : cudaSuccess);
}

/* What every call begins with. */
cudaError_t fake_enter(void)
{
    static _Atomic pid_t owner;
    pid_t nobody = 0;
    if (!atomic_compare_exchange_strong(&owner, &nobody, getpid()) && nobody != getpid())
        return fake_told(cudaErrorInitializationError);
    if (atomic_load(&is_trapped))
        return ended();
    return fake_told(device_count() > 0 ? cudaSuccess : cudaErrorNoDevice);
}

/* What a call begins with that may not be made during a capture. */
cudaError_t fake_enter_uncaptured(void)
{
    cudaError_t rc = fake_enter();
    return rc == cudaSuccess ? fake_capture_forbids() : rc;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = device_count();
    return fake_enter();
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t rc = fake_enter();
    if (rc != cudaSuccess)
        return rc;
    if (device < 0 || device >= device_count())
        return fake_told(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t rc = fake_enter();
    if (rc == cudaSuccess)
        *device = current;
    return rc;
}

int fake_device(void)
{
    return current;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t last = error;
    error = cudaSuccess;
    return last;
}

const char *cudaGetErrorString(cudaError_t code)
{
    static const char *const texts[] = {"no error",
                                        "invalid value",
                                        "out of memory",
                                        "not ready",
                                        "no device",
                                        "invalid device ordinal",
                                        "invalid resource handle",
                                        "initialization error",
                                        "not permitted when stream is capturing",
                                        "capture was invalidated",
                                        "unjoined work",
                                        "dependency on uncaptured work",
                                        "event was captured",
                                        "an illegal memory access was encountered"};
    return texts[code];
}

/* Whether these bytes can be copied: of the host's anything, of a device's what was allocated. */
static int is_copyable(const void *memory, size_t bytes)
{
    return memory && (fake_reach(memory) == memory || fake_device_with(memory, bytes) >= 0);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
    cudaError_t rc = fake_enter();
    if (rc != cudaSuccess)
        return rc;
    attributes->device = fake_device_with(memory, 1);
    attributes->type = attributes->device >= 0 ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    return cudaSuccess;
}

/* -- Streams -------------------------------------------------------------------------------------
 */

static _Thread_local struct fake_stream *running; /* NULL: no thread of a stream */

void fake_cost(uint64_t cost_ns)
{
    if (running)
        running->clock_ns += cost_ns;
}

static void *stream_main(void *arg)
{
    struct fake_stream *stream = arg;
    running = stream;
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
    fake_counted(FAKE_ALLOC);
    cudaError_t rc = fake_enter();
    if (rc != cudaSuccess)
        return rc;
    if (flags > cudaStreamNonBlocking)
        return fake_told(cudaErrorInvalidValue);
    struct fake_stream *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->last = &made->first;
    made->device = current;
    made->flags = flags;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    if (pthread_create(&made->thread, NULL, stream_main, made) != 0)
        abort();
    *stream = made;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    fake_counted(FAKE_ALLOC);
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

/* Those of the devices' default streams: they have no thread, who waits for one runs it. */
static pthread_mutex_t default_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct work *first, *last;
} defaults[DEVICES_MAX];

static struct work *default_take(int device)
{
    pthread_mutex_lock(&default_mutex);
    struct work *first = defaults[device].first;
    defaults[device].first = NULL;
    pthread_mutex_unlock(&default_mutex);
    return first;
}

static void default_run(void)
{
    for (struct work *work = default_take(current), *next; work; work = next) {
        next = work->next;
        work->run(work->arg);
        free(work->arg);
        free(work);
    }
}

/* Returns how much was enqueued on the stream with it. */
static uint64_t append(cudaStream_t stream, struct work *work)
{
    pthread_mutex_lock(&stream->mutex);
    for (struct work *next; work; work = next) {
        next = work->next;
        work->next = NULL;
        *stream->last = work;
        stream->last = &work->next;
        stream->enqueued++;
    }
    const uint64_t enqueued = stream->enqueued;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    return enqueued;
}

static struct work *work_new(void (*run)(void *arg), void *arg)
{
    struct work *work = malloc(sizeof *work);
    if (!work)
        abort();
    *work = (struct work){.run = run, .arg = arg};
    return work;
}

void fake_enqueue(cudaStream_t stream, void (*run)(void *arg), void *arg)
{
    fake_counted(FAKE_LAUNCH);
    struct work *work = work_new(run, arg);
    if (stream && fake_capture_take(stream, work))
        return;
    if (!stream) {
        pthread_mutex_lock(&default_mutex);
        if (defaults[current].first)
            defaults[current].last->next = work;
        else
            defaults[current].first = work;
        defaults[current].last = work;
        pthread_mutex_unlock(&default_mutex);
        return;
    }
    if (stream->flags == cudaStreamDefault) /* behind what the default stream has now */
        (void)append(stream, default_take(stream->device));
    (void)append(stream, work);
}

cudaError_t fake_launch(cudaStream_t stream, void (*run)(void *arg), void *arg)
{
    if (fake_device_of(stream) != current) {
        free(arg);
        return fake_told(cudaErrorInvalidResourceHandle);
    }
    fake_enqueue(stream, run, arg);
    return cudaSuccess;
}

void *fake_reach_own(const void *memory)
{
    const int own = running ? running->device : current, device = fake_device_with(memory, 1);
    if (device < 0 || device == own)
        return fake_reach(memory);
    (void)fprintf(stderr, "fake CUDA: a kernel on device %d uses memory of device %d\n", own,
                  device);
    abort();
}

int fake_device_of(cudaStream_t stream)
{
    return stream ? stream->device : current;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    fake_counted(FAKE_SYNC);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc != cudaSuccess)
        return rc;
    if (!stream) {
        default_run();
        return cudaSuccess;
    }
    pthread_mutex_lock(&stream->mutex);
    const uint64_t all = stream->enqueued;
    while (stream->done < all)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
    return ended();
}

/* -- Events --------------------------------------------------------------------------------------
 */

static pthread_mutex_t events_mutex = PTHREAD_MUTEX_INITIALIZER; /* what events hold */

static void stamp_unref(struct fake_stamp *stamp)
{
    if (stamp && atomic_fetch_sub(&stamp->refs, 1) == 1)
        free(stamp);
}

static void stamp_run(void *arg)
{
    struct fake_stamp *stamp = *(struct fake_stamp **)arg;
    stamp->clock_ns = running->clock_ns;
    stamp_unref(stamp);
}

/* Has the stream write the time into the event. The mutex of events is held. */
static void stamp_append(cudaEvent_t event, cudaStream_t stream)
{
    struct fake_stamp *stamp = calloc(1, sizeof *stamp), **arg = malloc(sizeof *arg);
    if (!stamp || !arg)
        abort();
    stamp->refs = 2;
    *arg = stamp;
    event->stamp = stamp;
    event->at = append(stream, work_new(stamp_run, arg));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    fake_counted(FAKE_ALLOC);
    cudaError_t rc = fake_enter();
    if (rc != cudaSuccess)
        return rc;
    *event = calloc(1, sizeof **event);
    if (!*event || (flags != cudaEventDisableTiming && flags != cudaEventDefault))
        abort();
    (*event)->device = current;
    (*event)->is_timed = flags == cudaEventDefault;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    stamp_unref(event->stamp);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t rc = fake_enter();
    if (rc != cudaSuccess)
        return rc;
    if (event->device != fake_device_of(stream))
        return fake_told(cudaErrorInvalidResourceHandle);
    if (fake_capture_record(event, stream))
        return cudaSuccess;
    if (!stream)
        default_run();
    else if (stream->flags == cudaStreamDefault)
        (void)append(stream, default_take(stream->device));
    pthread_mutex_lock(&events_mutex);
    event->stream = stream;
    stamp_unref(event->stamp);
    event->stamp = NULL;
    if (stream)
        stamp_append(event, stream);
    pthread_mutex_unlock(&events_mutex);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    fake_counted(FAKE_QUERY);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc == cudaSuccess && event->capture)
        rc = fake_told(cudaErrorCapturedEvent);
    if (rc != cudaSuccess)
        return rc;
    if (!event->stream) /* one that was never recorded is done */
        return cudaSuccess;
    pthread_mutex_lock(&event->stream->mutex);
    const int done = event->stream->done >= event->at;
    pthread_mutex_unlock(&event->stream->mutex);
    return done ? ended() : fake_told(cudaErrorNotReady);
}

static void wait_run(void *arg)
{
    const struct fake_event *event = arg;
    struct fake_stream *stream = event->stream;
    pthread_mutex_lock(&stream->mutex);
    while (stream->done < event->at)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
    if (running && event->stamp && running->clock_ns < event->stamp->clock_ns)
        running->clock_ns = event->stamp->clock_ns;
    stamp_unref(event->stamp);
}

/* Of work on streams that are no captured graphs. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t rc = fake_enter();
    if (rc == cudaSuccess && !(start->is_timed && start->stamp && end->is_timed && end->stamp))
        rc = fake_told(cudaErrorInvalidResourceHandle);
    if (rc == cudaSuccess)
        rc = cudaEventQuery(start);
    if (rc == cudaSuccess)
        rc = cudaEventQuery(end);
    if (rc == cudaSuccess)
        *ms = (float)(end->stamp->clock_ns - start->stamp->clock_ns) * 1e-6F;
    return rc;
}

/* For what the event holds now, whatever is recorded in it later. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    cudaError_t rc = fake_capture_wait(stream, event);
    if (rc != cudaSuccess || event->capture)
        return rc;
    struct fake_event *copy = malloc(sizeof *copy);
    if (!copy || flags)
        abort();
    pthread_mutex_lock(&events_mutex);
    *copy = *event;
    const int waits = copy->stream && copy->stream != stream;
    if (waits)
        atomic_fetch_add(&copy->stamp->refs, 1);
    pthread_mutex_unlock(&events_mutex);
    if (waits)
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
    fake_cost(copy->bytes);
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
    if (kind != cudaMemcpyDefault || !is_copyable(to, bytes) || !is_copyable(from, bytes))
        return fake_told(cudaErrorInvalidValue);
    if (fake_device_with(from, bytes) >= 0 && fake_reach(to) == to && !fake_is_pinned(to))
        fake_counted(FAKE_SYNC);
    return copy_enqueue((struct copy){.to = to, .from = from, .bytes = bytes}, stream);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    if (fake_device_with(memory, bytes) < 0)
        return fake_told(cudaErrorInvalidValue);
    if (fake_device_of(stream) != current)
        return fake_told(cudaErrorInvalidResourceHandle);
    return copy_enqueue((struct copy){.to = memory, .value = value, .bytes = bytes}, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    fake_counted(FAKE_SYNC);
    cudaError_t rc = fake_enter_uncaptured();
    if (rc != cudaSuccess)
        return rc;
    if (kind != cudaMemcpyDefault || !is_copyable(to, bytes) || !is_copyable(from, bytes))
        return fake_told(cudaErrorInvalidValue);
    default_run();
    memcpy(fake_reach(to), fake_reach(from), bytes);
    return ended();
}
