/* NCCL's collectives, done by a host communicator of their own on the stream's thread. As with the
 * real one an id leads to rank 0's process, joining and splitting go on in the background, and an
 * abort ends what was enqueued. FAKE_NCCL_FAULT: "init-hangs" (nobody ever joins), "split-hangs",
 * "duplicate" (as two ranks on one GPU), "async" (the first collective fails in the background),
 * "stuck" (it never ends). */
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

struct ncclComm {
    _Atomic(struct gw_comm *) host; /* NULL: still joining */
    int ranks, rank;
    char path[64]; /* of the segment; "": a part, which its parent's thread opens */
    _Atomic int failed;
    _Atomic int gone; /* aborted */
    _Atomic int registered;
    pthread_t splitter; /* while `splits` is not 0 */
    _Atomic int splits; /* 1: works; 2: is done */
    struct gw_comm_split split;
    struct ncclComm *part;
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
    enum verb verb;
    struct gw_comm_args args;
    cudaStream_t stream;
};

/* What was launched together on one communicator. */
struct launch {
    ncclComm_t comm;
    size_t count;
    struct call calls[];
};

enum { CALLS_MAX = 256 };

static _Thread_local struct launch *together; /* between start and end of a group */
static _Thread_local int depth;

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

static ncclComm_t comm_new(void)
{
    struct ncclComm *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    return made;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    struct place place;
    int segment;
    if (config->blocking || has_fault("duplicate"))
        return ncclInvalidUsage;
    struct ncclComm *made = comm_new();
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
    *comm = made;
    return ncclInProgress;
}

static void try_to_join(ncclComm_t comm)
{
    struct gw_comm *host;
    int fd = has_fault("init-hangs") ? -1 : open(comm->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    const struct gw_comm_host_options options = {
        .fd = fd, .rank = comm->rank, .ranks = comm->ranks};
    if (gw_comm_open_host(&options, &host, NULL) == 0)
        atomic_store(&comm->host, host);
    close(fd);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    if (!comm->host && *comm->path)
        try_to_join(comm);
    *state = atomic_load(&comm->failed)                      ? ncclRemoteError
             : comm->host && atomic_load(&comm->splits) != 1 ? ncclSuccess
                                                             : ncclInProgress;
    return ncclSuccess;
}

/* -- Parts ---------------------------------------------------------------------------------------
 */

static void *split_main(void *arg)
{
    ncclComm_t comm = arg;
    struct gw_comm *host = NULL;
    if (gw_comm_split(comm->host, &comm->split, &host, NULL) < 0)
        atomic_store(&comm->failed, 1);
    if (comm->part)
        atomic_store(&comm->part->host, host);
    atomic_store(&comm->splits, 2);
    return NULL;
}

static void split_join(ncclComm_t comm)
{
    if (atomic_load(&comm->splits) && !has_fault("split-hangs"))
        pthread_join(comm->splitter, NULL);
    atomic_store(&comm->splits, 0);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int key, ncclComm_t *part,
                           ncclConfig_t *config)
{
    if (config->blocking)
        return ncclInvalidUsage;
    split_join(comm);
    comm->split = (struct gw_comm_split){.colour = colour, .key = key};
    comm->part = colour == NCCL_SPLIT_NOCOLOR ? NULL : comm_new();
    *part = comm->part;
    atomic_store(&comm->splits, 1);
    if (!has_fault("split-hangs") && pthread_create(&comm->splitter, NULL, split_main, comm) != 0)
        abort();
    return ncclInProgress;
}

/* -- Ends ----------------------------------------------------------------------------------------
 */

static void comm_free(ncclComm_t comm)
{
    split_join(comm);
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
    atomic_store(&comm->gone, 1);
    fake_hold_look();
    if (comm->host)
        gw_comm_abort(comm->host, GW_ECANCELLED, -1);
    comm_free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes, void **handle)
{
    if (fake_reach(memory) == memory || bytes == 0)
        return ncclInvalidUsage;
    atomic_fetch_add(&comm->registered, 1);
    *handle = memory;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    return handle && atomic_fetch_sub(&comm->registered, 1) > 0 ? ncclSuccess : ncclInvalidUsage;
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

static int call_one(const struct launch *launch, const struct call *call)
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
    struct gw_comm_args args = call->args;
    args.send = fake_reach(args.send);
    args.recv = fake_reach(args.recv);
    return functions[call->verb](launch->comm->host, &args, NULL);
}

static int calls_run(const struct launch *launch)
{
    ncclComm_t comm = launch->comm;
    if (has_fault("async") || fake_pass(&comm->gone) < 0)
        return -1;
    int rc = launch->count > 1 ? gw_comm_group_begin(comm->host, NULL) : 0;
    for (size_t i = 0; i < launch->count && rc == 0; i++)
        rc = call_one(launch, &launch->calls[i]);
    return rc == 0 && launch->count > 1 ? gw_comm_group_end(comm->host, NULL) : rc;
}

static void launch_run(void *arg)
{
    const struct launch *launch = arg;
    ncclComm_t comm = launch->comm;
    if (calls_run(launch) < 0)
        atomic_store(&comm->failed, 1);
    pthread_mutex_lock(&comm->mutex);
    comm->in_flight--;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->mutex);
}

/* As long as the other stream has not come as far as it was told to now. */
static void follow(cudaStream_t stream, cudaStream_t after)
{
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess ||
        cudaEventRecord(event, after) != cudaSuccess ||
        cudaStreamWaitEvent(stream, event, 0) != cudaSuccess ||
        cudaEventDestroy(event) != cudaSuccess)
        abort();
}

/* On the stream of the first call; the others' wait for it, and it for them. */
static void launch_go(struct launch *launch)
{
    ncclComm_t comm = launch->comm;
    cudaStream_t streams[CALLS_MAX] = {NULL};
    const size_t count = launch->count; /* the launch is freed by who runs it */
    for (size_t i = 0; i < count; i++) {
        streams[i] = launch->calls[i].stream;
        follow(streams[0], streams[i]);
    }
    if (has_fault("stuck"))
        fake_hold(1);
    pthread_mutex_lock(&comm->mutex);
    comm->in_flight++;
    pthread_mutex_unlock(&comm->mutex);
    fake_enqueue(streams[0], launch_run, launch);
    for (size_t i = 1; i < count; i++)
        follow(streams[i], streams[0]);
}

static struct launch *launch_new(size_t room)
{
    struct launch *launch = calloc(1, sizeof *launch + room * sizeof launch->calls[0]);
    if (!launch)
        abort();
    return launch;
}

ncclResult_t ncclGroupStart(void)
{
    if (depth++ == 0)
        together = launch_new(CALLS_MAX);
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (depth == 0)
        return ncclInvalidUsage;
    if (--depth > 0)
        return ncclSuccess;
    if (together->count > 0)
        launch_go(together);
    else
        free(together);
    together = NULL;
    return ncclInProgress;
}

static ncclResult_t enqueue(ncclComm_t comm, enum verb verb, struct gw_comm_args args,
                            cudaStream_t stream)
{
    struct launch *launch = depth > 0 ? together : launch_new(1);
    if (!comm->host || (launch->comm && launch->comm != comm) || launch->count == CALLS_MAX)
        abort();
    launch->comm = comm;
    launch->calls[launch->count++] = (struct call){verb, args, stream};
    if (depth == 0)
        launch_go(launch);
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
