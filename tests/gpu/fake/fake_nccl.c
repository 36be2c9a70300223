/* NCCL's collectives, done by a host communicator of their own on the stream's thread. As with the
 * real one an id leads to rank 0's process, joining goes on in the background, and an abort ends
 * what was enqueued. FAKE_NCCL_FAULT: "init-hangs" (nobody ever joins), "duplicate" (as two ranks
 * on one GPU), "async" (the first collective fails in the background). */
#include "tests/gpu/fake/fake.h"

#include <fcntl.h>
#include <gangway/comm.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake_comm {
    struct gw_comm *host; /* NULL: still joining */
    int ranks, rank;
    char path[64]; /* of the segment */
    _Atomic int failed;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int in_flight;
};

/* What an id holds. */
struct place {
    int pid, fd;
};

enum verb { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECV };

struct call {
    ncclComm_t comm;
    enum verb verb;
    struct gw_comm_args args;
};

static bool has_fault(const char *fault)
{
    const char *wanted = getenv("FAKE_NCCL_FAULT");
    return wanted && strcmp(wanted, fault) == 0;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const struct place place = {getpid(), memfd_create("fake-nccl", MFD_CLOEXEC)};
    memset(id, 0, sizeof *id);
    memcpy(id, &place, sizeof place);
    return place.fd < 0 ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    struct place place;
    int segment;
    if (config->blocking || has_fault("duplicate"))
        return ncclInvalidUsage;
    struct fake_comm *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    memcpy(&place, &id, sizeof place);
    if (rank == 0) { /* only now it is known how many there are: the others look again until then */
        if (gw_comm_segment_create(ranks, &segment, NULL) < 0 ||
            dup3(segment, place.fd, O_CLOEXEC) < 0)
            abort();
        close(segment);
    }
    made->ranks = ranks;
    made->rank = rank;
    (void)snprintf(made->path, sizeof made->path, "/proc/%d/fd/%d", place.pid, place.fd);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    *comm = made;
    return ncclInProgress;
}

static void try_to_join(ncclComm_t comm)
{
    int fd = has_fault("init-hangs") ? -1 : open(comm->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    const struct gw_comm_host_options options = {
        .fd = fd, .rank = comm->rank, .ranks = comm->ranks};
    (void)gw_comm_open_host(&options, &comm->host, NULL);
    close(fd);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    if (!comm->host)
        try_to_join(comm);
    *state = atomic_load(&comm->failed) ? ncclRemoteError
             : comm->host               ? ncclSuccess
                                        : ncclInProgress;
    return ncclSuccess;
}

static void comm_free(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->mutex);
    while (comm->in_flight > 0)
        pthread_cond_wait(&comm->changed, &comm->mutex);
    pthread_mutex_unlock(&comm->mutex);
    gw_comm_close(comm->host);
    pthread_cond_destroy(&comm->changed);
    pthread_mutex_destroy(&comm->mutex);
    free(comm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return comm->host ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    comm_free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (comm->host)
        gw_comm_abort(comm->host, GW_ECANCELLED, -1);
    comm_free(comm);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {"no error", "system error", "invalid usage",
                                        "remote process exited", "in progress"};
    return texts[result];
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}

ncclResult_t ncclMemAlloc(void **memory, size_t bytes)
{
    return cudaMalloc(memory, bytes) == cudaSuccess ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclMemFree(void *memory)
{
    return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclInvalidUsage;
}

/* -- Collectives ---------------------------------------------------------------------------------
 */

static void call_run(void *arg)
{
    static int (*const functions[])(struct gw_comm *, const struct gw_comm_args *,
                                    struct gw_error *) = {
        [ALL_REDUCE] = gw_comm_all_reduce,
        [BROADCAST] = gw_comm_broadcast,
        [ALL_GATHER] = gw_comm_all_gather,
        [REDUCE_SCATTER] = gw_comm_reduce_scatter,
        [SEND] = gw_comm_send,
        [RECV] = gw_comm_recv,
    };
    const struct call *call = arg;
    ncclComm_t comm = call->comm;
    if (has_fault("async") || functions[call->verb](comm->host, &call->args, NULL) < 0)
        atomic_store(&comm->failed, 1);
    pthread_mutex_lock(&comm->mutex);
    comm->in_flight--;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->mutex);
}

static ncclResult_t enqueue(ncclComm_t comm, enum verb verb, struct gw_comm_args args,
                            cudaStream_t stream)
{
    struct call *call = malloc(sizeof *call);
    if (!call || !comm->host)
        abort();
    *call = (struct call){comm, verb, args};
    pthread_mutex_lock(&comm->mutex);
    comm->in_flight++;
    pthread_mutex_unlock(&comm->mutex);
    fake_enqueue(stream, call_run, call);
    return ncclSuccess;
}

static enum gw_dtype dtype_of(ncclDataType_t type)
{
    static const enum gw_dtype types[] = {
        [ncclFloat32] = GW_DTYPE_F32, [ncclFloat64] = GW_DTYPE_F64,   [ncclInt32] = GW_DTYPE_I32,
        [ncclInt64] = GW_DTYPE_I64,   [ncclBfloat16] = GW_DTYPE_BF16, [ncclFloat16] = GW_DTYPE_F16,
        [ncclUint8] = GW_DTYPE_U8,
    };
    return types[type];
}

static enum gw_reduce reduce_of(ncclRedOp_t reduce)
{
    static const enum gw_reduce reductions[] = {
        [ncclSum] = GW_REDUCE_SUM, [ncclProd] = GW_REDUCE_PROD, [ncclMin] = GW_REDUCE_MIN,
        [ncclMax] = GW_REDUCE_MAX, [ncclAvg] = GW_REDUCE_AVG,
    };
    return reductions[reduce];
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t reduce, ncclComm_t comm, cudaStream_t stream)
{
    const struct gw_comm_args args = {.send = send,
                                      .recv = recv,
                                      .count = count,
                                      .dtype = dtype_of(type),
                                      .reduce = reduce_of(reduce)};
    return enqueue(comm, ALL_REDUCE, args, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    const struct gw_comm_args args = {
        .send = send, .recv = recv, .count = count, .dtype = dtype_of(type), .root = root};
    return enqueue(comm, BROADCAST, args, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    const struct gw_comm_args args = {
        .send = send, .recv = recv, .count = count, .dtype = dtype_of(type)};
    return enqueue(comm, ALL_GATHER, args, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t reduce, ncclComm_t comm, cudaStream_t stream)
{
    const struct gw_comm_args args = {.send = send,
                                      .recv = recv,
                                      .count = count,
                                      .dtype = dtype_of(type),
                                      .reduce = reduce_of(reduce)};
    return enqueue(comm, REDUCE_SCATTER, args, stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    const struct gw_comm_args args = {
        .send = send, .count = count, .dtype = dtype_of(type), .root = peer};
    return enqueue(comm, SEND, args, stream);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    const struct gw_comm_args args = {
        .recv = recv, .count = count, .dtype = dtype_of(type), .root = peer};
    return enqueue(comm, RECV, args, stream);
}
