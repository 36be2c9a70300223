/* Graphs of the fake device: captured work, which runs at each launch, in the order of the calls.
 * While a stream is captured, what waits or allocates fails and spoils the capture, from every
 * thread that did not say that it is relaxed; every stream that took part must come back to the
 * first. */
#include "tests/gpu/fake/fake_stream.h"

#include <stdlib.h>

/* A graph: the captured calls in their order. It is its own executable. */
struct fake_graph {
    struct work *first, **last;
    cudaStream_t streams[8]; /* that take part; the first began */
    int streams_count, is_spoilt;
};

static pthread_mutex_t capture_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fake_graph *capturing; /* one at a time */
static _Thread_local enum cudaStreamCaptureMode capture_mode;

cudaError_t fake_capture_forbids(void)
{
    cudaError_t rc = cudaSuccess;
    pthread_mutex_lock(&capture_mutex);
    if (capturing && capture_mode != cudaStreamCaptureModeRelaxed) {
        capturing->is_spoilt = 1;
        rc = fake_told(cudaErrorStreamCaptureUnsupported);
    }
    pthread_mutex_unlock(&capture_mutex);
    return rc;
}

int fake_capture_take(cudaStream_t stream, struct work *work)
{
    pthread_mutex_lock(&capture_mutex);
    struct fake_graph *graph = stream->capture;
    if (graph) {
        *graph->last = work;
        graph->last = &work->next;
        stream->captured++;
        stream->forked = stream != graph->streams[0];
    }
    pthread_mutex_unlock(&capture_mutex);
    return graph != NULL;
}

int fake_capture_record(cudaEvent_t event, cudaStream_t stream)
{
    pthread_mutex_lock(&capture_mutex);
    event->capture = stream ? stream->capture : NULL;
    const int is_captured = event->capture != NULL;
    if (is_captured) {
        event->at = stream->captured;
        event->stream = stream;
    }
    pthread_mutex_unlock(&capture_mutex);
    return is_captured;
}

cudaError_t fake_capture_wait(cudaStream_t stream, cudaEvent_t event)
{
    cudaError_t rc = cudaSuccess;
    pthread_mutex_lock(&capture_mutex);
    struct fake_graph *graph = event->capture;
    if (graph && graph == capturing && !stream->capture) {
        stream->capture = graph;
        stream->captured = 0;
        stream->forked = 1;
        if (graph->streams_count == 8)
            abort();
        graph->streams[graph->streams_count++] = stream;
    }
    if (graph != stream->capture) {
        rc = fake_told(cudaErrorStreamCaptureIsolation);
        if (capturing)
            capturing->is_spoilt = 1;
    } else if (graph && event->stream != stream && event->at == event->stream->captured) {
        event->stream->forked = 0;
    }
    pthread_mutex_unlock(&capture_mutex);
    return rc;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    if (mode != cudaStreamCaptureModeGlobal || capturing)
        abort(); /* nobody needs another one */
    struct fake_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        abort();
    graph->last = &graph->first;
    graph->streams[graph->streams_count++] = stream;
    pthread_mutex_lock(&capture_mutex);
    stream->capture = capturing = graph;
    stream->captured = 0;
    pthread_mutex_unlock(&capture_mutex);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    pthread_mutex_lock(&capture_mutex);
    struct fake_graph *made = stream->capture;
    if (!made || made->streams[0] != stream)
        abort();
    cudaError_t rc = made->is_spoilt ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (int i = 0; i < made->streams_count; i++) {
        if (i > 0 && made->streams[i]->forked && rc == cudaSuccess)
            rc = cudaErrorStreamCaptureUnjoined;
        made->streams[i]->capture = NULL;
    }
    capturing = NULL;
    pthread_mutex_unlock(&capture_mutex);
    if (rc != cudaSuccess)
        (void)cudaGraphDestroy(made);
    *graph = rc == cudaSuccess ? made : NULL;
    return fake_told(rc);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    pthread_mutex_lock(&capture_mutex);
    *status =
        stream && stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    pthread_mutex_unlock(&capture_mutex);
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const enum cudaStreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    *exec = graph;
    return flags ? fake_told(cudaErrorInvalidValue) : cudaSuccess;
}

static void graph_run(void *arg)
{
    const struct fake_graph *graph = *(struct fake_graph **)arg;
    for (const struct work *work = graph->first; work; work = work->next)
        work->run(work->arg);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct fake_graph **arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = exec;
    fake_enqueue(stream, graph_run, arg);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    for (struct work *work = graph->first, *next; work; work = next) {
        next = work->next;
        free(work->arg);
        free(work);
    }
    free(graph);
    return cudaSuccess;
}
