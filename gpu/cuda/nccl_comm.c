/* The NCCL backend: ranks on one machine, each with a GPU.
 *
 * NCCL moves the data; a host communicator on the same segment (`host`) keeps the contract of
 * comm.h that NCCL has no words for. Before anything is launched all ranks of a collective meet
 * there and compare what they called; so a rank that is missing, dead or in another operation is
 * seen on the host, with its number, and what was launched is launched by every rank. While NCCL
 * works, the owner of the communicator polls: its event, NCCL's own error, the segment's first
 * cause, the deadline. It never blocks inside CUDA or NCCL, and it alone calls ncclCommAbort: an
 * abort from another thread or process only breaks the segment.
 *
 * Buffers in device memory are used as they are. Others are copied through `stages`, which grow
 * before the ranks meet: no cudaMalloc runs beside a collective that was half launched. */
#include "gpu/cuda/nccl_comm.h"

#include "gpu/comm_host.h"
#include <assert.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 19, 0)
#error "NCCL 2.19 or later: ncclMemAlloc"
#endif

enum {
    POLLS_BUSY = 2000,     /* polls before the owner sleeps between two of them */
    POLL_PAUSE_NS = 50000, /* how long then */
    FINISH_MAX_S = 2,      /* for NCCL to flush at the end */
    CAUSE_MAX_S = 2,       /* for the launcher to say who died, where NCCL only lost a peer */
    STAGE_BYTES_MIN = 1 << 20,
};

/* Device memory for the copy of a buffer that lies elsewhere. */
struct stage {
    void *memory;
    size_t bytes;
};

struct allocation {
    void *memory;
    struct allocation *next;
    uint64_t number; /* how many were made before it */
};

struct gw_nccl {
    struct gw_comm comm;
    struct gw_comm_host *host;
    ncclComm_t nccl; /* NULL before it is there, and once aborted */
    int device;
    cudaStream_t stream; /* of blocking operations */
    cudaEvent_t event;
    struct stage stages[2]; /* send, recv */
    struct allocation *allocations;
    uint64_t allocations_count; /* ever made */
    uint64_t history;           /* a digest of all alloc and dealloc calls; equal on all ranks */
};

/* Breaks the communicator on all ranks, unless another cause was first; returns the first one. */
static int nccl_break(struct gw_nccl *nccl, int code, const char *what, struct gw_error *error)
{
    char text[GW_SEGMENT_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s: rank %d: %s", gw_comm_verb_name(nccl->host->verb),
                   nccl->comm.rank, what);
    const struct gw_segment_fault fault = {
        .code = code,
        .cause = code == GW_ETIMEDOUT ? GW_ETIMEDOUT : GW_EIO,
        .rank = nccl->comm.rank,
        .text = text,
    };
    gw_segment_break(nccl->host->segment, &fault);
    return gw_segment_broken(nccl->host->segment, error);
}

static int cuda_break(struct gw_nccl *nccl, const char *call, cudaError_t rc,
                      struct gw_error *error)
{
    char what[128];
    (void)snprintf(what, sizeof what, "%s: %s", call, cudaGetErrorString(rc));
    return nccl_break(nccl, GW_EABORTED, what, error);
}

/* Gives up NCCL's side at once; what it had launched ends. */
static void nccl_drop(struct gw_nccl *nccl)
{
    if (nccl->nccl)
        (void)ncclCommAbort(nccl->nccl);
    nccl->nccl = NULL;
}

static void pause_between_polls(unsigned polls)
{
    if (polls < POLLS_BUSY)
        (void)sched_yield();
    else
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_PAUSE_NS}, NULL);
}

/* NCCL reports an error, most often a peer that went away. Who watches that peer knows more (which
 * rank, which signal): its word is waited for, and stands if it comes. */
static int nccl_failed(struct gw_nccl *nccl, ncclResult_t state, struct gw_error *error)
{
    char what[GW_SEGMENT_TEXT_MAX / 2];
    const char *last = nccl->nccl ? ncclGetLastError(nccl->nccl) : NULL;
    (void)snprintf(what, sizeof what, "NCCL: %s%s%s", ncclGetErrorString(state),
                   last && *last ? ": " : "", last ? last : "");
    uint64_t until_ns = gw_segment_now_ns() + (uint64_t)CAUSE_MAX_S * 1000000000;
    if (until_ns > nccl->host->deadline_ns)
        until_ns = nccl->host->deadline_ns;
    for (unsigned polls = 0; gw_segment_now_ns() < until_ns; polls++) {
        int rc = gw_segment_broken(nccl->host->segment, error);
        if (rc < 0)
            return rc;
        pause_between_polls(polls);
    }
    return nccl_break(nccl, GW_EABORTED, what, error);
}

/* One look at NCCL and the event (NULL: only NCCL): 1 done, 0 not yet, or what broke. */
static int nccl_poll(struct gw_nccl *nccl, cudaEvent_t event, struct gw_error *error)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t rc = ncclCommGetAsyncError(nccl->nccl, &state);
    if (rc != ncclSuccess)
        return nccl_failed(nccl, rc, error);
    if (state != ncclSuccess && state != ncclInProgress)
        return nccl_failed(nccl, state, error);
    if (state == ncclInProgress)
        return 0;
    if (!event)
        return 1;
    cudaError_t there = cudaEventQuery(event);
    if (there == cudaSuccess)
        return 1;
    return there == cudaErrorNotReady ? 0 : cuda_break(nccl, "cudaEventQuery", there, error);
}

/* Waits for NCCL, and for the event, until the deadline of the operation in progress. */
static int nccl_await(struct gw_nccl *nccl, cudaEvent_t event, struct gw_error *error)
{
    char what[64];
    for (unsigned polls = 0;; polls++) {
        int rc = nccl_poll(nccl, event, error);
        if (rc > 0)
            return 0;
        if (rc == 0)
            rc = gw_segment_broken(nccl->host->segment, error);
        if (rc == 0 && gw_segment_now_ns() >= nccl->host->deadline_ns) {
            (void)snprintf(what, sizeof what, "not done after %.3f s",
                           (double)nccl->comm.timeout_ns * 1e-9);
            rc = nccl_break(nccl, GW_ETIMEDOUT, what, error);
        }
        if (rc < 0) {
            nccl_drop(nccl);
            return rc;
        }
        pause_between_polls(polls);
    }
}

/* Starts an operation on both sides. */
static int nccl_begin(struct gw_nccl *nccl, enum gw_comm_verb verb, struct gw_error *error)
{
    nccl->host->comm.timeout_ns = nccl->comm.timeout_ns;
    int rc = gw_comm_host_begin(nccl->host, verb, error);
    if (rc < 0) {
        nccl_drop(nccl);
        return rc;
    }
    cudaError_t cuda = cudaSetDevice(nccl->device); /* a property of the calling thread */
    return cuda == cudaSuccess ? 0 : cuda_break(nccl, "cudaSetDevice", cuda, error);
}

/* All ranks of a collective meet, and compare what they called. */
static int nccl_meet(struct gw_nccl *nccl, const struct gw_segment_call *call,
                     struct gw_error *error)
{
    int rc = gw_comm_host_step(nccl->host, call, error);
    if (rc == 0)
        rc = gw_comm_host_agree(nccl->host, error);
    if (rc < 0)
        nccl_drop(nccl);
    return rc;
}

static struct gw_segment_call call_of(enum gw_comm_verb verb, const struct gw_comm_args *args)
{
    return (struct gw_segment_call){
        .verb = (uint32_t)verb,
        .dtype = (uint32_t)args->dtype,
        .reduce = (uint32_t)args->reduce,
        .root = args->root,
        .count = args->count,
        .send_at = GW_SEGMENT_NOWHERE,
        .recv_at = GW_SEGMENT_NOWHERE,
    };
}

/* The two ranks of a message compare; the sender does not wait for that. */
static int nccl_meet_pair(struct gw_nccl *nccl, enum gw_comm_verb verb,
                          const struct gw_comm_args *args, struct gw_error *error)
{
    struct gw_segment_call mine = call_of(verb, args), theirs;
    mine.root = 0; /* each names the other one */
    const struct gw_comm_args word = {.send = &mine,
                                      .recv = &theirs,
                                      .count = sizeof mine,
                                      .dtype = GW_DTYPE_U8,
                                      .root = args->root};
    int rc = verb == GW_COMM_SEND ? gw_comm_host_send(nccl->host, &word, error)
                                  : gw_comm_host_recv(nccl->host, &word, error);
    if (rc == 0 && verb == GW_COMM_RECV &&
        (theirs.dtype != mine.dtype || theirs.count != mine.count))
        rc = gw_comm_host_mismatch(nccl->host, (const int[]){args->root, nccl->comm.rank},
                                   (const struct gw_segment_call *const[]){&theirs, &mine}, error);
    if (rc < 0)
        nccl_drop(nccl);
    return rc;
}

/* Where an operation works. */
struct places {
    const void *send;
    void *recv;
    size_t send_bytes, recv_bytes;
    bool sends_copy, receives_copy; /* these are stages */
};

static bool is_on_device(const void *memory)
{
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
        (void)cudaGetLastError(); /* memory that CUDA has never heard of: not sticky */
        return false;
    }
    return attributes.type == cudaMemoryTypeDevice;
}

static cudaError_t stage_reserve(struct stage *stage, size_t bytes)
{
    if (bytes <= stage->bytes)
        return cudaSuccess;
    (void)cudaFree(stage->memory);
    *stage = (struct stage){0};
    size_t wanted = bytes < STAGE_BYTES_MIN ? STAGE_BYTES_MIN : bytes;
    cudaError_t rc = cudaMalloc(&stage->memory, wanted);
    if (rc == cudaSuccess)
        stage->bytes = wanted;
    return rc;
}

/* Finds out where the buffers lie, and gets stages for those that NCCL cannot reach. */
static int places_find(struct gw_nccl *nccl, enum gw_comm_verb verb,
                       const struct gw_comm_args *args, struct places *places,
                       struct gw_error *error)
{
    const size_t bytes = args->count * gw_dtype_size(args->dtype);
    const size_t all = bytes * (size_t)nccl->comm.size;
    *places = (struct places){
        .send = args->send,
        .recv = args->recv,
        .send_bytes = verb == GW_COMM_RECV             ? 0
                      : verb == GW_COMM_REDUCE_SCATTER ? all
                                                       : bytes,
        .recv_bytes = verb == GW_COMM_SEND         ? 0
                      : verb == GW_COMM_ALL_GATHER ? all
                                                   : bytes,
    };
    if (verb == GW_COMM_BROADCAST && args->root != nccl->comm.rank)
        places->send_bytes = 0;
    places->sends_copy = places->send_bytes > 0 && !is_on_device(args->send);
    places->receives_copy = places->recv_bytes > 0 && !is_on_device(args->recv);
    if (args->stream && (places->sends_copy || places->receives_copy))
        return gw_error_set(error, GW_EINVAL, "%s: with a stream, buffers lie in device memory",
                            gw_comm_verb_name(verb));
    cudaError_t rc = cudaSuccess;
    if (places->sends_copy)
        rc = stage_reserve(&nccl->stages[0], places->send_bytes);
    if (rc == cudaSuccess && places->receives_copy)
        rc = stage_reserve(&nccl->stages[1], places->recv_bytes);
    if (rc != cudaSuccess)
        return cuda_break(nccl, "memory for a copy of a buffer", rc, error);
    if (places->sends_copy)
        places->send = nccl->stages[0].memory;
    if (places->receives_copy)
        places->recv = nccl->stages[1].memory;
    if (places->send_bytes == 0) /* NCCL wants a pointer there; it does not read it */
        places->send = places->recv;
    return 0;
}

static ncclDataType_t nccl_dtype(enum gw_dtype dtype)
{
    static const ncclDataType_t types[] = {
        [GW_DTYPE_F32] = ncclFloat32, [GW_DTYPE_F64] = ncclFloat64,   [GW_DTYPE_I32] = ncclInt32,
        [GW_DTYPE_I64] = ncclInt64,   [GW_DTYPE_BF16] = ncclBfloat16, [GW_DTYPE_F16] = ncclFloat16,
        [GW_DTYPE_U8] = ncclUint8,
    };
    return types[dtype];
}

static ncclRedOp_t nccl_reduce(enum gw_reduce reduce)
{
    static const ncclRedOp_t reductions[] = {
        [GW_REDUCE_SUM] = ncclSum, [GW_REDUCE_PROD] = ncclProd, [GW_REDUCE_MIN] = ncclMin,
        [GW_REDUCE_MAX] = ncclMax, [GW_REDUCE_AVG] = ncclAvg,
    };
    return reductions[reduce];
}

static ncclResult_t nccl_launch(struct gw_nccl *nccl, enum gw_comm_verb verb,
                                const struct gw_comm_args *args, const struct places *places)
{
    const cudaStream_t stream = args->stream ? args->stream : nccl->stream;
    const ncclDataType_t dtype = nccl_dtype(args->dtype);
    const ncclRedOp_t reduce = nccl_reduce(args->reduce);
    const void *send = places->send;
    void *recv = places->recv;

    switch (verb) {
    case GW_COMM_ALL_REDUCE:
        return ncclAllReduce(send, recv, args->count, dtype, reduce, nccl->nccl, stream);
    case GW_COMM_BROADCAST:
        return ncclBroadcast(send, recv, args->count, dtype, args->root, nccl->nccl, stream);
    case GW_COMM_ALL_GATHER:
        return ncclAllGather(send, recv, args->count, dtype, nccl->nccl, stream);
    case GW_COMM_REDUCE_SCATTER:
        return ncclReduceScatter(send, recv, args->count, dtype, reduce, nccl->nccl, stream);
    case GW_COMM_SEND:
        return ncclSend(send, args->count, dtype, args->root, nccl->nccl, stream);
    case GW_COMM_RECV:
        return ncclRecv(recv, args->count, dtype, args->root, nccl->nccl, stream);
    case GW_COMM_BARRIER:
    case GW_COMM_ALLOC:
    case GW_COMM_WAIT:
        break;
    }
    assert(!"these launch nothing");
    return ncclInvalidUsage;
}

/* Copies on the communicator's stream and waits for it: called when nothing else is on it. */
static int copy_and_wait(struct gw_nccl *nccl, void *to, const void *from, size_t bytes,
                         struct gw_error *error)
{
    cudaError_t rc = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nccl->stream);
    if (rc == cudaSuccess)
        rc = cudaStreamSynchronize(nccl->stream);
    return rc == cudaSuccess ? 0 : cuda_break(nccl, "copy", rc, error);
}

/* Launches what the ranks have agreed on; without a stream, waits for it and copies back. */
static int nccl_move(struct gw_nccl *nccl, enum gw_comm_verb verb, const struct gw_comm_args *args,
                     const struct places *places, struct gw_error *error)
{
    int rc = 0;
    if (places->sends_copy)
        rc = copy_and_wait(nccl, nccl->stages[0].memory, args->send, places->send_bytes, error);
    if (rc < 0)
        return rc;
    ncclResult_t launched = nccl_launch(nccl, verb, args, places);
    if (launched != ncclSuccess && launched != ncclInProgress)
        return nccl_failed(nccl, launched, error);
    rc = nccl_await(nccl, NULL, error); /* it may connect first: nothing is on the stream before */
    if (rc < 0 || args->stream)
        return rc;
    cudaError_t cuda = cudaEventRecord(nccl->event, nccl->stream);
    if (cuda != cudaSuccess)
        return cuda_break(nccl, "cudaEventRecord", cuda, error);
    rc = nccl_await(nccl, nccl->event, error);
    if (rc == 0 && places->receives_copy)
        rc = copy_and_wait(nccl, args->recv, nccl->stages[1].memory, places->recv_bytes, error);
    return rc;
}

static int nccl_run(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
                    struct gw_error *error)
{
    struct gw_nccl *nccl = (struct gw_nccl *)comm;
    struct places places = {0};
    const bool pair = verb == GW_COMM_SEND || verb == GW_COMM_RECV;
    int rc = nccl_begin(nccl, verb, error);
    if (rc == 0 && verb != GW_COMM_BARRIER)
        rc = places_find(nccl, verb, args, &places, error);
    if (rc < 0)
        return rc;
    if (pair) {
        rc = nccl_meet_pair(nccl, verb, args, error);
    } else {
        const struct gw_segment_call call = call_of(verb, args);
        rc = nccl_meet(nccl, &call, error);
    }
    if (rc < 0 || verb == GW_COMM_BARRIER || args->count == 0)
        return rc;
    rc = nccl_move(nccl, verb, args, &places, error);
    if (rc < 0)
        nccl_drop(nccl);
    return rc;
}

static int nccl_wait(struct gw_comm *comm, void *stream, struct gw_error *error)
{
    struct gw_nccl *nccl = (struct gw_nccl *)comm;
    int rc = nccl_begin(nccl, GW_COMM_BARRIER, error);
    if (rc < 0 || !stream)
        return rc;
    cudaError_t cuda = cudaEventRecord(nccl->event, stream);
    if (cuda != cudaSuccess)
        return gw_error_set(error, GW_EINVAL, "wait: no stream of this rank's device: %s",
                            cudaGetErrorString(cuda));
    return nccl_await(nccl, nccl->event, error);
}

static void history_add(struct gw_nccl *nccl, uint64_t event)
{
    nccl->history = (nccl->history ^ event) * 0x100000001b3 + 1;
}

/* Zeroed device memory that NCCL may register. */
static int device_alloc(struct gw_nccl *nccl, size_t bytes, void **memory)
{
    if (ncclMemAlloc(memory, bytes) != ncclSuccess) {
        (void)cudaGetLastError();
        return GW_ENOMEM;
    }
    if (cudaMemsetAsync(*memory, 0, bytes, nccl->stream) == cudaSuccess &&
        cudaStreamSynchronize(nccl->stream) == cudaSuccess)
        return 0;
    (void)ncclMemFree(*memory);
    return GW_ENOMEM;
}

static int nccl_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error)
{
    struct gw_nccl *nccl = (struct gw_nccl *)comm;
    void *mine = NULL;
    int rc = nccl_begin(nccl, GW_COMM_ALLOC, error);
    if (rc < 0)
        return rc;
    struct allocation *allocation = calloc(1, sizeof *allocation);
    int status = allocation ? device_alloc(nccl, bytes, &mine) : GW_ENOMEM;
    const struct gw_segment_call call = {
        .verb = GW_COMM_ALLOC,
        .count = bytes,
        .agreed = nccl->history,
        .send_at = GW_SEGMENT_NOWHERE,
        .recv_at = GW_SEGMENT_NOWHERE,
        .status = status,
    };
    rc = nccl_meet(nccl, &call, error);
    for (int rank = 0; rc == 0 && rank < comm->size; rank++)
        if (gw_comm_host_call(nccl->host, rank)->status < 0)
            rc = gw_error_set(error, GW_ENOMEM, "alloc: rank %d has no %zu bytes of device memory",
                              rank, bytes);
    if (rc < 0) {
        if (status == 0)
            (void)ncclMemFree(mine);
        free(allocation);
        return rc;
    }
    history_add(nccl, bytes);
    *allocation = (struct allocation){
        .memory = mine, .next = nccl->allocations, .number = nccl->allocations_count++};
    nccl->allocations = allocation;
    *memory = mine;
    return 0;
}

static void nccl_dealloc(struct gw_comm *comm, void *memory)
{
    struct gw_nccl *nccl = (struct gw_nccl *)comm;
    struct allocation **at = &nccl->allocations;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    assert(*at && "memory of this communicator");
    struct allocation *gone = *at;
    *at = gone->next;
    history_add(nccl, ~gone->number);
    (void)cudaSetDevice(nccl->device);
    (void)ncclMemFree(gone->memory);
    free(gone);
}

static void nccl_abort(struct gw_comm *comm, int cause, int rank)
{
    gw_comm_abort(&((struct gw_nccl *)comm)->host->comm, cause, rank);
}

/* Lets NCCL flush what its proxies still hold for the others, for a moment; then it goes. */
static void nccl_finish(struct gw_nccl *nccl)
{
    ncclResult_t state = ncclCommFinalize(nccl->nccl);
    const uint64_t until_ns = gw_segment_now_ns() + (uint64_t)FINISH_MAX_S * 1000000000;
    for (unsigned polls = 0; state == ncclSuccess || state == ncclInProgress; polls++) {
        ncclResult_t rc = ncclCommGetAsyncError(nccl->nccl, &state);
        if (rc == ncclSuccess && state == ncclSuccess) {
            (void)ncclCommDestroy(nccl->nccl);
            nccl->nccl = NULL;
            return;
        }
        if (rc != ncclSuccess || gw_segment_now_ns() >= until_ns ||
            gw_segment_broken(nccl->host->segment, NULL) < 0)
            break;
        pause_between_polls(polls);
    }
    nccl_drop(nccl);
}

static void nccl_close(struct gw_comm *comm)
{
    struct gw_nccl *nccl = (struct gw_nccl *)comm;
    (void)cudaSetDevice(nccl->device);
    if (nccl->nccl && gw_segment_broken(nccl->host->segment, NULL) == 0)
        nccl_finish(nccl);
    nccl_drop(nccl);
    while (nccl->allocations)
        nccl_dealloc(comm, nccl->allocations->memory);
    for (int i = 0; i < 2; i++)
        (void)cudaFree(nccl->stages[i].memory);
    if (nccl->event)
        (void)cudaEventDestroy(nccl->event);
    if (nccl->stream)
        (void)cudaStreamDestroy(nccl->stream);
    gw_comm_close(&nccl->host->comm);
    free(nccl);
}

static const struct gw_comm_backend nccl_backend = {
    .name = "nccl",
    .has_streams = true,
    .run = nccl_run,
    .wait = nccl_wait,
    .alloc = nccl_alloc,
    .dealloc = nccl_dealloc,
    .abort = nccl_abort,
    .close = nccl_close,
};

/* What rank 0 tells the others: NCCL's id, or that there is none. */
struct invitation {
    ncclUniqueId id;
    int32_t status; /* an ncclResult_t */
};

/* Takes the device, and joins: rank 0's id travels through the host communicator, a new one for
 * every communicator, so that nobody of an earlier attempt can answer. */
static int nccl_join(struct gw_nccl *nccl, struct gw_error *error)
{
    struct invitation invitation = {0};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    int rc = nccl_begin(nccl, GW_COMM_BARRIER, error);
    if (rc < 0)
        return rc;
    cudaError_t cuda = cudaStreamCreateWithFlags(&nccl->stream, cudaStreamNonBlocking);
    if (cuda == cudaSuccess)
        cuda = cudaEventCreateWithFlags(&nccl->event, cudaEventDisableTiming);
    if (cuda != cudaSuccess)
        return cuda_break(nccl, "cudaStreamCreate", cuda, error);
    if (nccl->comm.rank == 0)
        invitation.status = ncclGetUniqueId(&invitation.id);
    rc = gw_comm_broadcast(
        &nccl->host->comm,
        GW_COMM_ARGS(.recv = &invitation, .count = sizeof invitation, .dtype = GW_DTYPE_U8), error);
    if (rc < 0)
        return rc;
    if (invitation.status != ncclSuccess)
        return nccl_failed(nccl, (ncclResult_t)invitation.status, error);
    config.blocking = 0;
    ncclResult_t started = ncclCommInitRankConfig(&nccl->nccl, nccl->comm.size, invitation.id,
                                                  nccl->comm.rank, &config);
    if (started != ncclSuccess && started != ncclInProgress)
        return nccl_failed(nccl, started, error);
    rc = nccl_await(nccl, NULL, error);
    return rc < 0 ? rc : gw_comm_barrier(&nccl->host->comm, error);
}

int gw_nccl_comm_open(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                      struct gw_error *error)
{
    int devices = 0;
    cudaError_t cuda = cudaGetDeviceCount(&devices);
    if (cuda != cudaSuccess)
        return gw_error_set(error, GW_ENOTSUP, "no GPU: %s", cudaGetErrorString(cuda));
    if (options->device < 0 || options->device >= devices)
        return gw_error_set(error, GW_EINVAL, "GPU %d of %d", options->device, devices);

    struct gw_comm *host;
    struct gw_nccl *nccl = calloc(1, sizeof *nccl);
    if (!nccl)
        return gw_error_set(error, GW_ENOMEM, "communicator");
    const struct gw_comm_host_options host_options = {.fd = options->fd,
                                                      .rank = options->rank,
                                                      .ranks = options->ranks,
                                                      .timeout_ns = options->timeout_ns};
    int rc = gw_comm_open_host(&host_options, &host, error);
    if (rc < 0) {
        free(nccl);
        return rc;
    }
    gw_comm_init(&nccl->comm, &nccl_backend, options->rank, options->ranks);
    gw_comm_set_timeout(&nccl->comm, options->timeout_ns);
    nccl->host = (struct gw_comm_host *)host;
    nccl->comm.pulse = host->pulse;
    nccl->device = options->device;
    rc = nccl_join(nccl, error);
    if (rc < 0) {
        nccl_close(&nccl->comm);
        return rc;
    }
    *comm = &nccl->comm;
    return 0;
}
