/* How the NCCL backend waits and fails, and how its ranks meet.
 *
 * The thread that uses the communicator never blocks inside CUDA or NCCL, because other ranks may
 * be missing. It polls its event, NCCL's error, the segment's first cause and the deadline. While
 * no thread waits, the watchdog does the same (nccl_watch.c). An abort from outside only breaks the
 * segment; this thread or the watchdog then calls ncclCommAbort.
 */
#include "gpu/cuda/nccl_state.h"

#include "graph/base/text.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

enum {
    POLLS_BUSY = 2000,     /* polls without a pause */
    POLL_PAUSE_NS = 50000, /* pause between two later polls */
    FINISH_MAX_S = 2,      /* time for NCCL to finish at close */
    CAUSE_MAX_S = 2,       /* if NCCL lost a peer: time for the launcher to report who died */
};

int gw_nccl_wait_break(struct gw_nccl *self, enum gw_comm_verb verb, int code, const char *what,
                       struct gw_error *error)
{
    char text[GW_SEGMENT_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s: rank %d: %s", gw_comm_backend_verb_name(verb),
                   self->comm.rank, what);
    const struct gw_segment_fault fault = {
        .code = code,
        .cause = code == GW_EABORTED ? GW_EIO : code,
        .rank = self->comm.rank,
        .text = text,
    };
    gw_segment_break(self->segment, &fault);
    return gw_segment_broken(self->segment, error);
}

/* Returns true for the errors after which a process cannot use its GPU any more. */
static bool is_sticky(cudaError_t rc)
{
    static const cudaError_t all[] = {
        cudaErrorIllegalAddress,     cudaErrorLaunchFailure,    cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress,  cudaErrorAssert,           cudaErrorLaunchTimeout,
        cudaErrorHardwareStackError, cudaErrorECCUncorrectable,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (rc == all[i])
            return true;
    return false;
}

int gw_nccl_wait_broken(struct gw_nccl *self, const char *call, cudaError_t rc,
                        struct gw_error *error)
{
    char what[160];
    if (is_sticky(rc)) { /* no fault of the call that found it */
        (void)snprintf(what, sizeof what,
                       "its GPU failed (%s): a kernel of this process trapped, or the hardware",
                       cudaGetErrorString(rc));
        return gw_nccl_wait_break(self, self->verb, GW_EDEVICE, what, error);
    }
    (void)snprintf(what, sizeof what, "%s: %s", call, cudaGetErrorString(rc));
    return gw_nccl_wait_break(self, self->verb, GW_EABORTED, what, error);
}

static void pause_between_polls(unsigned polls)
{
    if (polls < POLLS_BUSY)
        (void)sched_yield();
    else
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_PAUSE_NS}, NULL);
}

void gw_nccl_wait_describe(ncclResult_t state, char *text, size_t size)
{
    const char *last =
        ncclGetLastError(NULL); /* the process's last error, which exists also if joining failed */
    (void)snprintf(text, size, "NCCL: %s%s%s", ncclGetErrorString(state), last && *last ? ": " : "",
                   last ? last : "");
}

/* Handles an error of NCCL, which usually means that another rank ended. The worker of that rank
 * knows more (the rank and the signal). So this function waits for the worker's report, and if the
 * report comes it is the cause. */
int gw_nccl_wait_failed(struct gw_nccl *self, ncclResult_t state, struct gw_error *error)
{
    char what[GW_SEGMENT_TEXT_MAX / 2];
    const cudaError_t device = cudaEventQuery(self->event);
    if (is_sticky(device)) /* NCCL failed because of it */
        return gw_nccl_wait_broken(self, "NCCL", device, error);
    gw_nccl_wait_describe(state, what, sizeof what);
    uint64_t until_ns = gw_segment_now_ns() + (uint64_t)CAUSE_MAX_S * 1000000000;
    if (until_ns > self->deadline_ns)
        until_ns = self->deadline_ns;
    for (unsigned polls = 0; gw_segment_now_ns() < until_ns; polls++) {
        int rc = gw_segment_broken(self->segment, error);
        if (rc < 0)
            return rc;
        pause_between_polls(polls);
    }
    return gw_nccl_wait_break(self, self->verb, GW_EABORTED, what, error);
}

/* Checks NCCL (part, or the communicator's own) and the event once (NULL: only NCCL). Returns 1 if
 * finished, 0 if not, or an error. The event is read first, so that an error that happened before
 * the event finished is seen. */
static int look(struct gw_nccl *self, ncclComm_t part, cudaEvent_t event, struct gw_error *error)
{
    ncclResult_t state = ncclSuccess, rc = ncclSuccess;
    const cudaError_t there = event ? cudaEventQuery(event) : cudaSuccess;
    gw_nccl_watch_lock();
    const ncclComm_t nccl = part ? part : self->nccl;
    if (nccl)
        rc = ncclCommGetAsyncError(nccl, &state);
    gw_nccl_watch_unlock();
    if (!nccl) /* aborted by the watchdog: the segment has the cause */
        return gw_segment_broken(self->segment, error);
    if (rc != ncclSuccess)
        return gw_nccl_wait_failed(self, rc, error);
    if (state != ncclSuccess && state != ncclInProgress)
        return gw_nccl_wait_failed(self, state, error);
    if (state == ncclInProgress || there == cudaErrorNotReady)
        return 0;
    return there == cudaSuccess ? 1 : gw_nccl_wait_broken(self, "cudaEventQuery", there, error);
}

static int await(struct gw_nccl *self, ncclComm_t part, cudaEvent_t event, struct gw_error *error)
{
    char what[64], time[GW_TEXT_DURATION_ROOM];
    for (unsigned polls = 0;; polls++) {
        int rc = look(self, part, event, error);
        if (rc > 0)
            return 0;
        if (rc == 0)
            rc = gw_segment_broken(self->segment, error);
        if (rc == 0 && gw_segment_now_ns() >= self->deadline_ns) {
            (void)snprintf(what, sizeof what, "not done after %s",
                           gw_text_duration(self->comm.timeout_ns, time));
            rc = gw_nccl_wait_break(self, self->verb, GW_ETIMEDOUT, what, error);
        }
        if (rc < 0) {
            gw_nccl_watch_drop(self);
            return rc;
        }
        pause_between_polls(polls);
    }
}

int gw_nccl_wait_event(struct gw_nccl *self, cudaEvent_t event, struct gw_error *error)
{
    return await(self, NULL, event, error);
}

int gw_nccl_wait_stream(struct gw_nccl *self, struct gw_error *error)
{
    cudaError_t rc = cudaEventRecord(self->event, self->stream);
    return rc == cudaSuccess ? gw_nccl_wait_event(self, self->event, error)
                             : gw_nccl_wait_broken(self, "cudaEventRecord", rc, error);
}

int gw_nccl_wait_comm(struct gw_nccl *self, ncclComm_t nccl, struct gw_error *error)
{
    return await(self, nccl, NULL, error);
}

int gw_nccl_wait_begin(struct gw_nccl *self, enum gw_comm_verb verb, struct gw_error *error)
{
    self->verb = verb;
    self->host->timeout_ns = self->comm.timeout_ns;
    self->deadline_ns = gw_segment_now_ns() + self->comm.timeout_ns;
    if (self->deadline_ns < self->comm.timeout_ns) /* the sum overflowed: no deadline */
        self->deadline_ns = INT64_MAX;
    int rc = gw_segment_broken(self->segment, error);
    if (rc < 0) {
        gw_nccl_watch_drop(self);
        return rc;
    }
    cudaError_t cuda =
        cudaSetDevice(self->device); /* the device is a property of the calling thread */
    return cuda == cudaSuccess ? 0 : gw_nccl_wait_broken(self, "cudaSetDevice", cuda, error);
}

/* -- Meeting -------------------------------------------------------------------------------------
 */

int gw_nccl_wait_meet(struct gw_nccl *self, const struct gw_segment_call *call, int32_t *worst,
                      struct gw_error *error)
{
    int rc = self->host->backend->meet(self->host, call, worst, error);
    if (rc < 0)
        gw_nccl_watch_drop(self);
    return rc;
}

/* What the two ranks of a message must agree on. */
struct letter {
    uint64_t count;
    uint32_t dtype;
    uint32_t on_host; /* written by the sender: the host communicator moves the data */
};

static int letter_differs(struct gw_nccl *self, int from, const struct letter letters[2],
                          struct gw_error *error)
{
    char text[GW_SEGMENT_TEXT_MAX];
    (void)snprintf(text, sizeof text,
                   "ranks disagree: rank %d called send of %llu %s, rank %d called recv of %llu %s",
                   from, (unsigned long long)letters[0].count,
                   gw_dtype_name((enum gw_dtype)letters[0].dtype), self->comm.rank,
                   (unsigned long long)letters[1].count,
                   gw_dtype_name((enum gw_dtype)letters[1].dtype));
    const struct gw_segment_fault fault = {
        .code = GW_EMISMATCH, .cause = GW_EMISMATCH, .rank = self->comm.rank, .text = text};
    gw_segment_break(self->segment, &fault);
    return gw_segment_broken(self->segment, error);
}

/* The two ranks of a message compare their calls. The sender does not wait for the comparison. */
static int meet_pair(struct gw_nccl *self, enum gw_comm_verb verb, const struct gw_comm_args *args,
                     bool *on_host, struct gw_error *error)
{
    struct letter letters[2] = {{0}, {args->count, (uint32_t)args->dtype, *on_host}};
    const struct gw_comm_args word = {.send = &letters[1],
                                      .recv = &letters[0],
                                      .count = sizeof letters[0],
                                      .dtype = GW_DTYPE_U8,
                                      .root = args->root};
    int rc = self->host->backend->run(self->host, verb, &word, error);
    if (rc == 0 && verb == GW_COMM_RECV &&
        (letters[0].dtype != letters[1].dtype || letters[0].count != letters[1].count))
        rc = letter_differs(self, args->root, letters, error);
    if (verb == GW_COMM_RECV)
        *on_host = letters[0].on_host;
    if (rc < 0)
        gw_nccl_watch_drop(self);
    return rc;
}

int gw_nccl_wait_meet_args(struct gw_nccl *self, enum gw_comm_verb verb,
                           const struct gw_comm_args *args, bool *on_host, struct gw_error *error)
{
    int32_t worst = 0;
    const struct gw_segment_call call = {
        .verb = (uint32_t)verb,
        .dtype = (uint32_t)args->dtype,
        .reduce = (uint32_t)args->reduce,
        .root = args->root,
        .count = args->count,
        .send_at = GW_SEGMENT_NOWHERE,
        .recv_at = GW_SEGMENT_NOWHERE,
        .status = *on_host ? 0 : GW_ENOTSUP,
    };
    if (verb == GW_COMM_SEND || verb == GW_COMM_RECV)
        return meet_pair(self, verb, args, on_host, error);
    int rc = gw_nccl_wait_meet(self, &call, &worst, error);
    *on_host = worst == 0;
    return rc;
}

/* Lets NCCL send the data that its proxy threads still hold for other ranks. */
void gw_nccl_wait_finish(struct gw_nccl *self)
{
    ncclResult_t state = ncclCommFinalize(self->nccl);
    const uint64_t until_ns = gw_segment_now_ns() + (uint64_t)FINISH_MAX_S * 1000000000;
    for (unsigned polls = 0; state == ncclSuccess || state == ncclInProgress; polls++) {
        ncclResult_t rc = ncclCommGetAsyncError(self->nccl, &state);
        if (rc == ncclSuccess && state == ncclSuccess) {
            (void)ncclCommDestroy(self->nccl);
            self->nccl = NULL;
            return;
        }
        if (rc != ncclSuccess || gw_segment_now_ns() >= until_ns ||
            gw_segment_broken(self->segment, NULL) < 0)
            break;
        pause_between_polls(polls);
    }
    gw_nccl_watch_drop(self);
}

bool gw_nccl_wait_quiet(struct gw_nccl *self)
{
    const cudaStream_t streams[] = {self->stream, self->side};
    const uint64_t until_ns = gw_segment_now_ns() + (uint64_t)FINISH_MAX_S * 1000000000;
    cudaError_t rc = cudaSuccess;
    for (size_t i = 0; i < 2 && rc == cudaSuccess; i++) {
        if (!self->event || !streams[i] || cudaEventRecord(self->event, streams[i]) != cudaSuccess)
            continue; /* not made, or the GPU failed: nothing runs */
        for (unsigned polls = 0; gw_segment_now_ns() < until_ns; polls++) {
            rc = cudaEventQuery(self->event);
            if (rc != cudaErrorNotReady)
                break;
            pause_between_polls(polls);
        }
    }
    return rc != cudaErrorNotReady;
}
