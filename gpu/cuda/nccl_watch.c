/* The watchdog: one thread of the process that looks after the communicators while no thread waits
 * in one of them. Work on a stream would otherwise run without a deadline: a thread that waits for
 * the stream in CUDA notices neither a dead rank nor an abort.
 *
 * `mutex` guards the list, the marks, and the NCCL communicators: who holds it may use
 * `gw_nccl.nccl`, and no other thread destroys it meanwhile. Communicators that broke are aborted
 * in one group of NCCL. NCCL then tells the kernels of all of them to end before it frees the
 * first: freeing waits for the device, and a kernel of another communicator could hold it up.
 *
 * Events in a graph cannot be asked. So a captured operation lies between two kernels that count,
 * and the watchdog reads the counters. */
#include "gpu/cuda/nccl_state.h"
#include "gpu/cuda/replay_count.h"

#include "graph/base/text.h"
#include "graph/base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum {
    WATCH_PERIOD_NS = 20000000,
    CAUSE_MAX_S = 2,  /* if NCCL lost a peer: time for the launcher to report who died */
    ENDING_MAX_S = 2, /* time for NCCL to abort before callers go on without it */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER; /* some `ending` became NULL */
static struct gw_nccl *watched;                         /* the open communicators */
static bool is_running;                                 /* the thread exists */

void gw_nccl_watch_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void gw_nccl_watch_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static void ending_add(struct gw_nccl *self, struct gw_nccl **first)
{
    self->ending = self->nccl;
    self->ending_until_ns = gw_segment_now_ns() + (uint64_t)ENDING_MAX_S * 1000000000;
    self->nccl = NULL;
    self->ending_next = *first;
    *first = self;
}

/* Takes `self` (NULL: none) and all communicators that are broken out of use. Returns the first of
 * a list for endings_run. The mutex is held. */
static struct gw_nccl *endings_take(struct gw_nccl *self)
{
    struct gw_nccl *first = NULL;
    if (self)
        ending_add(self, &first);
    for (struct gw_nccl *one = watched; one; one = one->watch_next)
        if (one->nccl && gw_segment_broken(one->segment, NULL) < 0)
            ending_add(one, &first);
    return first;
}

/* Aborts the communicators of a list. No thread uses them any more. */
static void *endings_run(void *list)
{
    struct gw_nccl *abandoned = NULL;
    (void)ncclGroupStart();
    for (struct gw_nccl *one = list; one; one = one->ending_next)
        (void)ncclCommAbort(one->ending);
    (void)ncclGroupEnd();
    gw_nccl_watch_lock();
    for (struct gw_nccl *one = list, *next; one; one = next) {
        next = one->ending_next;
        one->ending = NULL;
        one->ending_next = one->is_abandoned ? abandoned : NULL;
        abandoned = one->is_abandoned ? one : abandoned;
    }
    pthread_cond_broadcast(&ended);
    gw_nccl_watch_unlock();
    for (struct gw_nccl *one = abandoned, *next; one; one = next) {
        next = one->ending_next;
        gw_nccl_comm_release(one);
    }
    return NULL;
}

/* Waits for another thread that aborts this communicator, up to the deadline. The mutex is held. */
static void ending_await(const struct gw_nccl *self)
{
    const struct timespec until = {.tv_sec = (time_t)(self->ending_until_ns / 1000000000),
                                   .tv_nsec = (long)(self->ending_until_ns % 1000000000)};
    int rc = 0;
    while (self->ending && rc == 0)
        rc = pthread_cond_clockwait(&ended, &mutex, CLOCK_MONOTONIC, &until);
}

/* Starts a thread that nobody joins. */
static int thread_start(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    int rc = gw_thread_start(&thread, function, arg);
    if (rc == 0)
        (void)pthread_detach(thread);
    return rc == 0 ? 0 : GW_ENOMEM;
}

/* In a thread of its own: it may wait for a kernel that does not end, or of a communicator that
 * breaks later. The mutex is held. */
static void endings_start(struct gw_nccl *list)
{
    if (!list || thread_start(endings_run, list) == 0)
        return;
    gw_nccl_watch_unlock();
    (void)endings_run(list);
    gw_nccl_watch_lock();
}

void gw_nccl_watch_drop(struct gw_nccl *self)
{
    gw_nccl_watch_lock();
    if (self->nccl)
        endings_start(endings_take(self));
    ending_await(self);
    gw_nccl_watch_unlock();
}

bool gw_nccl_watch_close(struct gw_nccl *self)
{
    gw_nccl_watch_drop(self);
    gw_nccl_watch_lock();
    self->is_abandoned = self->ending != NULL;
    const bool is_done = !self->is_abandoned;
    gw_nccl_watch_unlock();
    return is_done;
}

/* -- Looking -------------------------------------------------------------------------------------
 */

static void marks_check(struct gw_nccl *self, uint64_t now_ns)
{
    char what[128], time[GW_TEXT_DURATION_ROOM];
    for (int i = 0; i < GW_NCCL_MARKS; i++) {
        struct gw_nccl_mark *mark = &self->marks[i];
        if (!mark->pending)
            continue;
        const cudaError_t rc = cudaEventQuery(mark->event);
        mark->pending = rc == cudaErrorNotReady;
        if (rc != cudaSuccess && rc != cudaErrorNotReady) {
            (void)gw_nccl_wait_broken(self, "cudaEventQuery", rc, NULL);
        } else if (mark->pending && now_ns >= mark->deadline_ns) {
            (void)snprintf(what, sizeof what, "not done after %s",
                           gw_text_duration(mark->timeout_ns, time));
            (void)gw_nccl_wait_break(self, mark->verb, GW_ETIMEDOUT, what, NULL);
        }
    }
}

/* Replays are enqueued without a call of this library. So their time begins when the device comes
 * to a captured operation, and begins anew whenever one is done. */
static void replays_check(struct gw_nccl *self, uint64_t now_ns)
{
    char what[128], time[GW_TEXT_DURATION_ROOM];
    const uint32_t ended_count = __atomic_load_n(&self->replays->ended, __ATOMIC_SEQ_CST);
    const uint32_t begun_count = __atomic_load_n(&self->replays->begun, __ATOMIC_SEQ_CST);
    if (begun_count == ended_count) {
        self->replays_since_ns = 0;
    } else if (self->replays_since_ns == 0 || self->replays_ended != ended_count) {
        self->replays_since_ns = now_ns;
        self->replays_ended = ended_count;
    } else if (now_ns - self->replays_since_ns >= self->replays_timeout_ns) {
        (void)snprintf(what, sizeof what, "in a replay of a graph: not done after %s",
                       gw_text_duration(self->replays_timeout_ns, time));
        (void)gw_nccl_wait_break(self, self->replays_verb, GW_ETIMEDOUT, what, NULL);
    }
}

/* NCCL reports the end of another rank before the launcher does, and knows less. */
static void nccl_check(struct gw_nccl *self, uint64_t now_ns)
{
    char what[GW_SEGMENT_TEXT_MAX / 2];
    ncclResult_t state = ncclSuccess, rc = ncclCommGetAsyncError(self->nccl, &state);
    if (rc == ncclSuccess && (state == ncclSuccess || state == ncclInProgress)) {
        self->failed_ns = 0;
    } else if (self->failed_ns == 0) {
        self->failed_ns = now_ns;
    } else if (now_ns - self->failed_ns >= (uint64_t)CAUSE_MAX_S * 1000000000) {
        gw_nccl_wait_describe(rc == ncclSuccess ? state : rc, what, sizeof what);
        (void)gw_nccl_wait_break(self, GW_COMM_WAIT, GW_EABORTED, what, NULL);
    }
}

static void look_at_all(void)
{
    const uint64_t now_ns = gw_segment_now_ns();
    bool broken = false;
    for (struct gw_nccl *self = watched; self; self = self->watch_next) {
        if (!self->nccl)
            continue;
        marks_check(self, now_ns);
        replays_check(self, now_ns);
        nccl_check(self, now_ns);
        broken = broken || gw_segment_broken(self->segment, NULL) < 0;
    }
    if (broken)
        endings_start(endings_take(NULL));
}

static void *watch_main(void *arg)
{
    /* Without this, the questions of this thread would end a capture of another one. */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    (void)arg;
    gw_nccl_watch_lock();
    for (;;) {
        while (!watched)
            pthread_cond_wait(&added, &mutex);
        look_at_all();
        gw_nccl_watch_unlock();
        (void)nanosleep(&(struct timespec){.tv_nsec = WATCH_PERIOD_NS}, NULL);
        gw_nccl_watch_lock();
    }
    return NULL;
}

/* -- What is watched -----------------------------------------------------------------------------
 */

int gw_nccl_watch_add(struct gw_nccl *self, struct gw_error *error)
{
    for (int i = 0; i < GW_NCCL_MARKS; i++) {
        cudaError_t cuda = cudaEventCreateWithFlags(&self->marks[i].event, cudaEventDisableTiming);
        if (cuda != cudaSuccess)
            return gw_nccl_wait_broken(self, "an event of the GPU", cuda, error);
    }
    gw_nccl_watch_lock();
    int rc = is_running ? 0 : thread_start(watch_main, NULL);
    if (rc == 0) {
        is_running = true;
        self->watch_next = watched;
        watched = self;
        pthread_cond_signal(&added);
    }
    gw_nccl_watch_unlock();
    return rc < 0 ? gw_nccl_wait_break(self, GW_COMM_JOIN, rc, "no thread for the watchdog", error)
                  : 0;
}

void gw_nccl_watch_remove(struct gw_nccl *self)
{
    gw_nccl_watch_lock();
    struct gw_nccl **at = &watched;
    while (*at && *at != self)
        at = &(*at)->watch_next;
    if (*at)
        *at = self->watch_next;
    gw_nccl_watch_unlock();
    for (int i = 0; i < GW_NCCL_MARKS; i++)
        if (self->marks[i].event)
            (void)cudaEventDestroy(self->marks[i].event);
}

/* A free mark, or else one that waits for the same stream: it then waits for later work. */
static struct gw_nccl_mark *mark_choose(struct gw_nccl *self, cudaStream_t stream)
{
    struct gw_nccl_mark *chosen = &self->marks[0];
    for (int i = 0; i < GW_NCCL_MARKS; i++) {
        struct gw_nccl_mark *mark = &self->marks[i];
        if (!mark->pending)
            return mark;
        if (mark->stream == stream && mark->deadline_ns >= chosen->deadline_ns)
            chosen = mark;
    }
    return chosen;
}

/* Returns true if work on the stream is captured now. The replays then count it. */
static bool is_captured(cudaStream_t stream, cudaError_t *rc)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    *rc = cudaStreamIsCapturing(stream, &capture);
    return *rc == cudaSuccess && capture != cudaStreamCaptureStatusNone;
}

int gw_nccl_watch_before(struct gw_nccl *self, cudaStream_t stream, struct gw_error *error)
{
    cudaError_t rc;
    if (is_captured(stream, &rc)) {
        gw_nccl_watch_lock();
        self->replays_verb = self->verb;
        self->replays_timeout_ns = self->comm.timeout_ns;
        gw_nccl_watch_unlock();
        rc = (cudaError_t)gw_replay_count(&self->replays->begun, stream);
    }
    return rc == cudaSuccess ? 0 : gw_nccl_wait_broken(self, "capture", rc, error);
}

int gw_nccl_watch_mark(struct gw_nccl *self, cudaStream_t stream, struct gw_error *error)
{
    cudaError_t rc;
    if (is_captured(stream, &rc)) {
        rc = (cudaError_t)gw_replay_count(&self->replays->ended, stream);
        return rc == cudaSuccess ? 0 : gw_nccl_wait_broken(self, "capture", rc, error);
    }
    gw_nccl_watch_lock();
    struct gw_nccl_mark *mark = mark_choose(self, stream);
    if (rc == cudaSuccess)
        rc = cudaEventRecord(mark->event, stream);
    if (rc == cudaSuccess) {
        mark->stream = stream;
        mark->verb = self->verb;
        mark->timeout_ns = self->comm.timeout_ns;
        mark->deadline_ns = self->deadline_ns;
        mark->pending = true;
    }
    gw_nccl_watch_unlock();
    return rc == cudaSuccess ? 0 : gw_nccl_wait_broken(self, "cudaEventRecord", rc, error);
}
