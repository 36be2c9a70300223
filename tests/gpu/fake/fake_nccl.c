/* NCCL's collectives, done by a host communicator of their own on the stream's thread. As with the
 * real one an id leads to rank 0's process, joining and splitting go on in the background, and an
 * abort ends what was enqueued. It also refuses what the real one does or crashes on: a
 * communicator that is used before what it was told last is seen to be done, another device than
 * its own, buffers that do not lie there, two ranks of one host (NCCL_HOSTID) on one device, a
 * configuration that was not initialised, memory freed before its registration. A process that dies
 * in a collective is an error on the others. FAKE_NCCL_FAULT: "init-hangs" (nobody ever joins),
 * "split-hangs", "duplicate" (as two ranks on one GPU), "async" (the first collective fails in the
 * background), "stuck" (it never ends). */
#include "tests/gpu/fake/fake_nccl.h"

#include "tests/gpu/fake/fake.h"

#include <fcntl.h>
#include <gangway/comm.h>
#include <nccl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ncclComm {
    _Atomic(struct gw_comm *) host; /* NULL: still joining */
    int ranks, rank, device;
    char path[64];          /* of the segment; "": a part, which its parent's thread opens */
    int segment;            /* -1: not opened, or a part */
    struct gw_comm *joined; /* what becomes `host` when all ranks are known */
    pthread_t joiner;       /* while `joined` */
    int *watched;           /* pidfds of the ranks; NULL: a part */
    _Atomic int failed;     /* an ncclResult_t */
    _Atomic int gone;       /* aborted */
    bool busy;              /* nobody saw yet that what it was told last is done */
    int looks;              /* that are too early for that */
    bool blocks;            /* its calls return when they are done */
    pthread_t splitter;     /* while `splits` is not 0 */
    _Atomic int splits;     /* 1: works; 2: is done */
    struct gw_comm_part split;
    struct ncclComm *part;
    ncclComm_t *part_at; /* where the caller wants it, once it is there */
    int in_flight;       /* launches that are not done */
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

/* The operations that were launched together on one communicator. */
struct launch {
    ncclComm_t comm;
    bool is_captured; /* launched by a graph, again and again */
    size_t count;
    struct call calls[];
};

enum { CALLS_MAX = 256 };

static _Thread_local struct launch *together; /* between start and end of a group */
static _Thread_local int depth;
static _Thread_local ncclResult_t group_failed;
static _Thread_local ncclComm_t ending[64]; /* aborted in this group */
static _Thread_local int endings;
static pthread_mutex_t flights_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flights_changed = PTHREAD_COND_INITIALIZER;
static int flights; /* `in_flight` of all communicators of this process */
static char last_error[128];

static bool has_fault(const char *fault)
{
    const char *wanted = getenv("FAKE_NCCL_FAULT");
    return wanted && strcmp(wanted, fault) == 0;
}

ncclResult_t fake_nccl_refuse(ncclResult_t rc, const char *why)
{
    (void)snprintf(last_error, sizeof last_error, "%s", why);
    return rc;
}

/* Where the real one would do what nobody can foresee. */
void fake_nccl_must(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "fake NCCL: %s\n", what);
    abort();
}

/* Checks that a communicator is free for a call, and that the device is its own. */
ncclResult_t fake_nccl_enter(ncclComm_t comm)
{
    if (comm->busy || !comm->host)
        return fake_nccl_refuse(ncclInvalidArgument,
                                "Attempt to use communicator before the previous "
                                "operation returned ncclSuccess");
    return fake_device() == comm->device
               ? ncclSuccess
               : fake_nccl_refuse(ncclUnhandledCudaError, "another device");
}

int fake_nccl_device(ncclComm_t comm)
{
    return comm->device;
}

static ncclResult_t begun(ncclComm_t comm)
{
    if (comm->blocks)
        return ncclSuccess;
    comm->busy = true;
    comm->looks = 1;
    return ncclInProgress;
}

static ncclResult_t config_check(const ncclConfig_t *config)
{
    if (config->size != sizeof *config || config->magic != 0xcafebeef)
        return fake_nccl_refuse(
            ncclInvalidArgument,
            "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const struct place place = {getpid(), memfd_create("fake-nccl", MFD_CLOEXEC)};
    memset(id, 0, sizeof *id);
    memcpy(id, &place, sizeof place);
    return place.fd < 0 ? ncclSystemError : ncclSuccess;
}

/* -- Joining -------------------------------------------------------------------------------------
 */

static ncclComm_t comm_new(void)
{
    struct ncclComm *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->segment = -1;
    made->device = fake_device();
    return made;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    struct place place;
    int segment;
    ncclResult_t rc = config_check(config);
    if (rc != ncclSuccess || has_fault("duplicate"))
        return rc != ncclSuccess ? rc
                                 : fake_nccl_refuse(ncclInvalidUsage, "Duplicate GPU detected");
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
    if (config->blocking == 0)
        return begun(made);
    made->blocks = true;
    do { /* try to join; other ranks may not have begun */
        (void)sched_yield();
        (void)ncclCommGetAsyncError(made, &rc);
    } while (rc == ncclInProgress);
    return rc;
}

/* By what NCCL knows a rank from another one. */
struct identity {
    char host[64], device[96];
    int pid;
};

static struct identity identity_of(const struct ncclComm *comm)
{
    struct identity identity = {.pid = getpid()};
    const char *host = getenv("NCCL_HOSTID"), *devices = getenv("CUDA_VISIBLE_DEVICES");
    for (int i = 0; i < comm->device && devices; i++)
        devices = strchr(devices, ',') ? strchr(devices, ',') + 1 : NULL;
    if (host)
        (void)snprintf(identity.host, sizeof identity.host, "%s", host);
    (void)snprintf(identity.device, sizeof identity.device, "%d %.*s", comm->device,
                   devices ? (int)strcspn(devices, ",") : 0, devices ? devices : "");
    return identity;
}

/* All ranks learn of each other; one GPU for two ranks of a host is refused. */
static void *join_main(void *arg)
{
    ncclComm_t comm = arg;
    struct identity *all = calloc((size_t)comm->ranks, sizeof *all);
    const struct identity own = identity_of(comm);
    const struct gw_comm_args args = {
        .send = &own, .recv = all, .count = sizeof own, .dtype = GW_DTYPE_U8};
    if (!all)
        abort();
    if (gw_comm_all_gather(comm->joined, &args, NULL) < 0) {
        atomic_store(&comm->failed, ncclRemoteError);
    } else {
        for (int i = 0; i < comm->ranks; i++) {
            comm->watched[i] = (int)syscall(SYS_pidfd_open, all[i].pid, 0);
            if (i != comm->rank && strcmp(all[i].host, own.host) == 0 &&
                strcmp(all[i].device, own.device) == 0)
                atomic_store(
                    &comm->failed,
                    fake_nccl_refuse(ncclInvalidUsage, "Duplicate GPU detected : two ranks on it"));
        }
        atomic_store(&comm->host, comm->joined);
    }
    free(all);
    return NULL;
}

static void try_to_join(ncclComm_t comm)
{
    int fd = has_fault("init-hangs") ? -1 : open(comm->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    const struct gw_comm_host_options options =
        GW_INIT(gw_comm_host_options, .fd = fd, .rank = comm->rank, .ranks = comm->ranks);
    if (gw_comm_open_host(&options, &comm->joined, NULL) < 0) {
        comm->joined = NULL;
        close(fd);
        return;
    }
    comm->segment = fd;
    comm->watched = calloc((size_t)comm->ranks, sizeof *comm->watched);
    if (!comm->watched || pthread_create(&comm->joiner, NULL, join_main, comm) != 0)
        abort();
}

/* Whether a process died while this one needs it: its connections are seen to be closed. */
static bool is_bereft(ncclComm_t comm)
{
    pthread_mutex_lock(&flights_mutex);
    const bool waits = comm->in_flight > 0;
    pthread_mutex_unlock(&flights_mutex);
    for (int i = 0; waits && comm->watched && i < comm->ranks; i++) {
        struct gw_comm_progress progress;
        struct pollfd died = {.fd = comm->watched[i], .events = POLLIN};
        if (poll(&died, 1, 0) == 1 &&
            gw_comm_segment_progress(comm->segment, i, &progress, NULL) == 0 &&
            progress.presence == GW_COMM_OPEN)
            return true;
    }
    return false;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    if (!comm->joined && *comm->path)
        try_to_join(comm);
    if (!atomic_load(&comm->failed) && is_bereft(comm))
        atomic_store(&comm->failed,
                     fake_nccl_refuse(ncclRemoteError, "connection closed by remote peer"));
    const bool there = comm->host && atomic_load(&comm->splits) != 1;
    *state = (ncclResult_t)atomic_load(&comm->failed);
    if (*state == ncclSuccess && (!there || comm->looks-- > 0))
        *state = ncclInProgress;
    comm->busy = comm->busy && *state == ncclInProgress;
    return ncclSuccess;
}

/* -- Parts ---------------------------------------------------------------------------------------
 */

static void *split_main(void *arg)
{
    ncclComm_t comm = arg;
    struct gw_comm *host = NULL;
    if (gw_comm_split(comm->host, &comm->split, &host, NULL) < 0)
        atomic_store(&comm->failed, ncclRemoteError);
    if (comm->part) {
        atomic_store(&comm->part->host, host);
        *comm->part_at = comm->part;
    }
    atomic_store(&comm->splits, 2);
    return NULL;
}

static void split_join(ncclComm_t comm)
{
    if (atomic_load(&comm->splits) && !has_fault("split-hangs"))
        pthread_join(comm->splitter, NULL);
    else if (atomic_load(&comm->splits) && comm->part)
        *comm->part_at = comm->part; /* for the caller to give up too */
    atomic_store(&comm->splits, 0);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int key, ncclComm_t *part,
                           ncclConfig_t *config)
{
    ncclResult_t rc = fake_nccl_enter(comm);
    if (rc == ncclSuccess)
        rc = config_check(config);
    if (rc != ncclSuccess)
        return rc;
    fake_nccl_must(!comm->blocks && config->blocking == 0, "nobody needs splits that block");
    split_join(comm);
    comm->split = (struct gw_comm_part){.colour = colour, .key = key};
    comm->part = colour == NCCL_SPLIT_NOCOLOR ? NULL : comm_new();
    comm->part_at = part;
    *part = NULL;
    atomic_store(&comm->splits, 1);
    if (!has_fault("split-hangs") && pthread_create(&comm->splitter, NULL, split_main, comm) != 0)
        abort();
    return begun(comm);
}

/* -- Ends ----------------------------------------------------------------------------------------
 */

static void comm_free(ncclComm_t comm)
{
    split_join(comm);
    (void)fake_nccl_unregister(comm, NULL);
    pthread_mutex_lock(&flights_mutex);
    while (comm->in_flight > 0)
        pthread_cond_wait(&flights_changed, &flights_mutex);
    pthread_mutex_unlock(&flights_mutex);
    if (comm->joined)
        pthread_join(comm->joiner, NULL);
    gw_comm_close(comm->joined ? comm->joined : comm->host);
    for (int i = 0; comm->watched && i < comm->ranks; i++)
        if (comm->watched[i] > 0)
            close(comm->watched[i]);
    free(comm->watched);
    if (comm->segment >= 0)
        close(comm->segment);
    free(comm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t rc = fake_nccl_enter(comm);
    return rc == ncclSuccess ? begun(comm) : rc;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    fake_nccl_must(!comm->busy, "a communicator is destroyed before what it was told last is done");
    comm_free(comm);
    return ncclSuccess;
}

/* As with the real one, freeing waits for the device: also for what other communicators launched.
 * In a group all are told to end before the first is freed. */
static void aborted_free(void)
{
    pthread_mutex_lock(&flights_mutex);
    while (endings > 0 && flights > 0)
        pthread_cond_wait(&flights_changed, &flights_mutex);
    pthread_mutex_unlock(&flights_mutex);
    while (endings > 0)
        comm_free(ending[--endings]);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    atomic_store(&comm->gone, 1);
    fake_hold_look();
    if (comm->joined || comm->host)
        gw_comm_abort(comm->joined ? comm->joined : comm->host, GW_ECANCELLED, -1);
    fake_nccl_must(endings < 64, "too many communicators are aborted in a group");
    ending[endings++] = comm;
    if (depth == 0)
        aborted_free();
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        "no error",      "system error",          "unhandled cuda error", "invalid argument",
        "invalid usage", "remote process exited", "in progress"};
    return texts[result];
}

/* As with the real one, of the process. */
const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return last_error;
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
    fake_cost(args.count * gw_dtype_size(args.dtype));
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

static void flights_add(ncclComm_t comm, int more)
{
    pthread_mutex_lock(&flights_mutex);
    comm->in_flight += more;
    flights += more;
    pthread_cond_broadcast(&flights_changed);
    pthread_mutex_unlock(&flights_mutex);
}

static void launch_run(void *arg)
{
    const struct launch *launch = arg;
    ncclComm_t comm = launch->comm;
    if (launch->is_captured)
        flights_add(comm, 1);
    if (calls_run(launch) < 0)
        atomic_store(&comm->failed, ncclRemoteError);
    flights_add(comm, -1);
}

/* As long as the other stream has not come as far as it was told to now. */
static void follow(cudaStream_t stream, cudaStream_t after)
{
    cudaEvent_t event;
    if (stream == after)
        return;
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
    enum cudaStreamCaptureStatus capture;
    (void)cudaStreamIsCapturing(streams[0], &capture);
    launch->is_captured = capture == cudaStreamCaptureStatusActive;
    if (!launch->is_captured)
        flights_add(comm, 1);
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
    if (depth++ == 0) {
        together = launch_new(CALLS_MAX);
        group_failed = ncclSuccess;
    }
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (depth == 0)
        return ncclInvalidUsage;
    if (--depth > 0)
        return ncclSuccess;
    struct launch *launch = together;
    together = NULL;
    aborted_free();
    if (launch->count == 0 || group_failed != ncclSuccess) {
        free(launch);
        return group_failed;
    }
    ncclComm_t comm = launch->comm;
    launch_go(launch);
    return begun(comm);
}

static void must_hold(ncclComm_t comm, const void *memory, size_t bytes)
{
    fake_nccl_must(bytes == 0 || fake_device_with(memory, bytes) == comm->device,
                   "a buffer is not in the device's memory, or leaves it");
}

/* Buffers are what the device's addresses say: nobody looks for the real one. */
static void buffers_check(ncclComm_t comm, enum verb verb, const struct gw_comm_args *args)
{
    const size_t bytes = args->count * gw_dtype_size(args->dtype);
    const size_t all = bytes * (size_t)comm->ranks;
    if (verb != RECV && (verb != BROADCAST || args->root == comm->rank))
        must_hold(comm, args->send, verb == REDUCE_SCATTER ? all : bytes);
    if (verb != SEND)
        must_hold(comm, args->recv, verb == ALL_GATHER ? all : bytes);
}

static ncclResult_t enqueue(ncclComm_t comm, enum verb verb, struct gw_comm_args args,
                            cudaStream_t stream)
{
    fake_counted(FAKE_NCCL);
    ncclResult_t rc = fake_nccl_enter(comm);
    if (rc != ncclSuccess)
        return group_failed = rc;
    buffers_check(comm, verb, &args);
    fake_nccl_must(stream && fake_device_of(stream) == comm->device, "a stream of another device");
    struct launch *launch = depth > 0 ? together : launch_new(1);
    fake_nccl_must(!launch->comm || launch->comm == comm, "two communicators in a group");
    fake_nccl_must(launch->count < CALLS_MAX, "too many calls in a group");
    launch->comm = comm;
    launch->calls[launch->count++] = (struct call){verb, args, stream};
    if (depth > 0)
        return ncclSuccess;
    launch_go(launch);
    return begun(comm);
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
