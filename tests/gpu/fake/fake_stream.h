/* Between fake_cuda.c and fake_graph.c: streams, events and captures. */
#ifndef GW_TESTS_FAKE_STREAM_H
#define GW_TESTS_FAKE_STREAM_H

#include "tests/gpu/fake/fake.h"

#include <pthread.h>
#include <stdint.h>

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
    int device;
    unsigned flags;
    struct fake_graph *capture; /* NULL: work runs */
    uint64_t captured;          /* work that the capture got from this stream */
    int forked;                 /* the captured work is not yet waited for by another stream */
    uint64_t clock_ns;          /* of its thread: what its work cost (fake_cost) */
};

/* When the work before an event was done. The event, the work that writes it, and streams that wait
 * for the event hold it. */
struct fake_stamp {
    _Atomic int refs;
    uint64_t clock_ns;
};

struct fake_event {
    int device;
    cudaStream_t stream;        /* NULL: nothing to wait for */
    uint64_t at;                /* enqueued on it when the event was recorded */
    struct fake_graph *capture; /* NULL: recorded outside a capture */
    struct fake_stamp *stamp;   /* NULL: never recorded, or in a capture */
    int is_timed;
};

/* fake_told remembers an error of this thread for cudaGetLastError, and returns it. */
cudaError_t fake_told(cudaError_t rc);

/* fake_enter is what every call begins with; fake_enter_uncaptured, what a call begins with that
 * may not be made during a capture. */
cudaError_t fake_enter(void);
cudaError_t fake_enter_uncaptured(void);

/* fake_capture_forbids returns an error, and spoils the capture, if this thread may not wait or
 * allocate now. */
cudaError_t fake_capture_forbids(void);

/* fake_capture_take takes over work if its stream is being captured: returns 1. */
int fake_capture_take(cudaStream_t stream, struct work *work);

/* fake_capture_record returns 1 if the event now stands for captured work. */
int fake_capture_record(cudaEvent_t event, cudaStream_t stream);

/* fake_capture_wait: a stream that waits for captured work takes part in the capture from now on.
 */
cudaError_t fake_capture_wait(cudaStream_t stream, cudaEvent_t event);

#endif
