/* The NCCL backend: ranks on one host or several, each with a GPU.
 *
 * NCCL moves the data. A communicator of the host backend (`host`) implements those rules of comm.h
 * that NCCL does not support. Before a blocking collective is launched, all ranks meet on `host`
 * and compare their calls. So a rank that is missing, has died or has called another operation is
 * found on the host, with its number. An operation on a stream does not meet, because the meeting
 * would hold up the device: gw_ddp_open compares once what follows in every step.
 * GANGWAY_COMM_CHECK=1 makes these operations meet, too. nccl_wait.c implements waiting and
 * failing, nccl_memory.c the buffers.
 *
 * `host` may have been created by the copy of the host backend in the program. So this file uses it
 * only through its table of functions. */
#include "gpu/cuda/nccl_comm.h"

#include "gpu/cuda/nccl_state.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

static bool has_started(ncclResult_t result)
{
    return result == ncclSuccess || result == ncclInProgress;
}

static ncclResult_t nccl_launch(struct gw_nccl *self, enum gw_comm_verb verb,
                                const struct gw_comm_args *args,
                                const struct gw_nccl_places *places)
{
    const cudaStream_t stream = args->stream ? args->stream : self->stream;
    const ncclDataType_t dtype = nccl_dtype(args->dtype);
    const ncclRedOp_t reduce = nccl_reduce(args->reduce);
    const void *send = places->send;
    void *recv = places->recv;

    switch (verb) {
    case GW_COMM_ALL_REDUCE:
        return ncclAllReduce(send, recv, args->count, dtype, reduce, self->nccl, stream);
    case GW_COMM_BROADCAST:
        return ncclBroadcast(send, recv, args->count, dtype, args->root, self->nccl, stream);
    case GW_COMM_ALL_GATHER:
        return ncclAllGather(send, recv, args->count, dtype, self->nccl, stream);
    case GW_COMM_REDUCE_SCATTER:
        return ncclReduceScatter(send, recv, args->count, dtype, reduce, self->nccl, stream);
    case GW_COMM_SEND:
        return ncclSend(send, args->count, dtype, args->root, self->nccl, stream);
    case GW_COMM_RECV:
        return ncclRecv(recv, args->count, dtype, args->root, self->nccl, stream);
    case GW_COMM_BARRIER:
    case GW_COMM_ALLOC:
    case GW_COMM_WAIT:
    case GW_COMM_GROUP:
    case GW_COMM_SPLIT:
    case GW_COMM_JOIN:
        break;
    }
    assert(!"these launch nothing");
    return ncclInvalidUsage;
}

/* -- Operations ----------------------------------------------------------------------------------
 */

/* Launches an operation on which the ranks have agreed. If it has no stream, waits for it and
 * copies the result back. */
static int nccl_move(struct gw_nccl *self, const struct gw_comm_item *item,
                     struct gw_nccl_places *places, struct gw_error *error)
{
    const struct gw_comm_args *args = &item->args;
    int rc = gw_nccl_memory_stage(self, places, error);
    if (rc == 0 && places->sends_copy)
        rc = gw_nccl_memory_copy(self, self->stages[0].memory, args->send, places->send_bytes,
                                 error);
    if (rc < 0)
        return rc;
    if (args->stream)
        rc = gw_nccl_watch_before(self, args->stream, error);
    if (rc < 0)
        return rc;
    gw_nccl_watch_lock();
    ncclResult_t launched =
        self->nccl ? nccl_launch(self, item->verb, args, places) : ncclInvalidUsage;
    gw_nccl_watch_unlock();
    if (!has_started(launched))
        return gw_nccl_wait_failed(self, launched, error);
    rc = gw_nccl_wait_event(self, NULL, error); /* the first call of NCCL may connect the ranks:
                                                   wait for this before other work is put on the
                                                   stream */
    if (rc < 0)
        return rc;
    if (args->stream)
        return gw_nccl_watch_mark(self, args->stream, error);
    rc = gw_nccl_wait_stream(self, error);
    if (rc == 0 && places->receives_copy)
        rc = gw_nccl_memory_copy(self, args->recv, self->stages[1].memory, places->recv_bytes,
                                 error);
    return rc;
}

/* Runs an operation on the host communicator. The buffer of a receiver may be on a device. */
static int host_move(struct gw_nccl *self, const struct gw_comm_item *item,
                     const struct gw_nccl_places *places, struct gw_error *error)
{
    struct gw_comm_args args = item->args;
    void *copy = NULL;
    if (!places->on_host) {
        args.recv = copy = malloc(places->recv_bytes);
        if (!copy) { /* the sender waits for this rank */
            gw_comm_abort(self->host, GW_ENOMEM, self->comm.rank);
            return gw_error_set(error, GW_ENOMEM, "recv: out of memory for %zu bytes",
                                places->recv_bytes);
        }
    }
    int rc = self->host->backend->run(self->host, item->verb, &args, error);
    if (rc == 0 && copy)
        rc = gw_nccl_memory_copy(self, item->args.recv, copy, places->recv_bytes, error);
    free(copy);
    return rc;
}

/* Returns true if the ranks compare their calls before the operation is launched. */
static bool meets(const struct gw_nccl *self, const struct gw_comm_args *args)
{
    return !args->stream || self->compares;
}

static int nccl_run(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
                    struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    struct gw_nccl_places places = {.on_host = true};
    const struct gw_comm_item item = {verb, *args};
    int rc = gw_nccl_wait_begin(self, verb, error);
    if (rc == 0 && verb != GW_COMM_BARRIER)
        rc = gw_nccl_memory_places(self, &item, args->stream != NULL, &places, error);
    bool on_host = places.on_host && !args->stream;
    if (rc == 0 && meets(self, args))
        rc = gw_nccl_wait_meet_args(self, verb, args, &on_host, error);
    if (rc < 0 || verb == GW_COMM_BARRIER || args->count == 0)
        return rc;
    rc = on_host ? host_move(self, &item, &places, error) : nccl_move(self, &item, &places, error);
    if (rc < 0)
        gw_nccl_watch_drop(self);
    return rc;
}

/* Launches all operations of a group at once. */
static ncclResult_t group_launch(struct gw_nccl *self, const struct gw_comm_item *items,
                                 size_t count)
{
    if (!self->nccl)
        return ncclInvalidUsage;
    ncclResult_t launched = ncclGroupStart();
    for (size_t i = 0; i < count && has_started(launched); i++) {
        const struct gw_comm_args *args = &items[i].args;
        const struct gw_nccl_places places = {.send = args->send ? args->send : args->recv,
                                              .recv = args->recv};
        if (args->count > 0)
            launched = nccl_launch(self, items[i].verb, args, &places);
    }
    ncclResult_t ended =
        ncclGroupEnd(); /* also after an error, because NCCL counts starts and ends */
    return has_started(launched) ? ended : launched;
}

/* Runs a group. The ranks have met for the operations that block. */
static int group_run(struct gw_nccl *self, const struct gw_comm_item *items, size_t count,
                     struct gw_error *error)
{
    bool blocks = false;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (items[i].args.stream)
            rc = gw_nccl_watch_before(self, items[i].args.stream, error);
    if (rc < 0)
        return rc;
    gw_nccl_watch_lock();
    ncclResult_t launched = group_launch(self, items, count);
    gw_nccl_watch_unlock();
    if (!has_started(launched))
        return gw_nccl_wait_failed(self, launched, error);
    rc = gw_nccl_wait_event(self, NULL, error);
    for (size_t i = 0; i < count && rc == 0; i++) {
        blocks = blocks || !items[i].args.stream;
        if (items[i].args.stream)
            rc = gw_nccl_watch_mark(self, items[i].args.stream, error);
    }
    return rc < 0 || !blocks ? rc : gw_nccl_wait_stream(self, error);
}

static int nccl_group(struct gw_comm *comm, const struct gw_comm_item *items, size_t count,
                      struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    struct gw_nccl_places places;
    bool on_host = false; /* places.on_host is only true for empty buffers */
    int rc = gw_nccl_wait_begin(self, GW_COMM_GROUP, error);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = gw_nccl_memory_places(self, &items[i], true, &places, error);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (meets(self, &items[i].args))
            rc = gw_nccl_wait_meet_args(self, items[i].verb, &items[i].args, &on_host, error);
    if (rc < 0)
        return rc;
    rc = group_run(self, items, count, error);
    if (rc < 0)
        gw_nccl_watch_drop(self);
    return rc;
}

/* -- Streams -------------------------------------------------------------------------------------
 */

static int nccl_wait(struct gw_comm *comm, void *stream, struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    int rc = gw_nccl_wait_begin(self, GW_COMM_WAIT, error);
    if (rc < 0 || !stream)
        return rc;
    cudaError_t cuda = cudaEventRecord(self->event, stream);
    if (cuda != cudaSuccess)
        return gw_error_set(error, GW_EINVAL, "wait: not a stream of this rank's device: %s",
                            cudaGetErrorString(cuda));
    return gw_nccl_wait_event(self, self->event, error);
}

static int nccl_stream(struct gw_comm *comm, void **stream, struct gw_error *error)
{
    *stream = ((struct gw_nccl *)comm)->side;
    return 0;
}

static int nccl_follow(struct gw_comm *comm, void *stream, void *after, struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    int broken = gw_segment_broken(self->segment, error);
    if (broken < 0)
        return broken;
    cudaError_t rc = cudaSetDevice(self->device);
    if (rc == cudaSuccess)
        rc = cudaEventRecord(self->order, after);
    if (rc == cudaSuccess)
        rc = cudaStreamWaitEvent(stream, self->order, 0);
    return rc == cudaSuccess
               ? 0
               : gw_error_set(error, GW_EINVAL, "follow: no streams of this rank's device: %s",
                              cudaGetErrorString(rc));
}

static int nccl_handle(struct gw_comm *comm, struct ncclComm **handle, struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    int rc = gw_segment_broken(self->segment, error);
    if (rc < 0)
        return rc;
    if (!self->nccl)
        return gw_error_set(error, GW_EABORTED, "NCCL's communicator is gone");
    *handle = self->nccl;
    return 0;
}

/* -- Opening and closing -------------------------------------------------------------------------
 */

static void nccl_abort(struct gw_comm *comm, int cause, int rank)
{
    gw_comm_abort(((struct gw_nccl *)comm)->host, cause, rank);
}

/* Frees everything except `host`. */
static void nccl_free(struct gw_nccl *self)
{
    (void)cudaSetDevice(self->device);
    gw_nccl_watch_remove(self);
    if (self->nccl && gw_segment_broken(self->segment, NULL) == 0)
        gw_nccl_wait_finish(self);
    if (gw_nccl_watch_close(self))
        gw_nccl_comm_release(self);
}

void gw_nccl_comm_release(struct gw_nccl *self)
{
    (void)cudaSetDevice(self->device);
    if (!gw_nccl_wait_quiet(self)) { /* leave the memory to work that does not end */
        free(self);
        return;
    }
    gw_nccl_memory_deinit(self);
    if (self->replays)
        (void)cudaFreeHost((void *)(uintptr_t)self->replays);
    if (self->event)
        (void)cudaEventDestroy(self->event);
    if (self->order)
        (void)cudaEventDestroy(self->order);
    if (self->side)
        (void)cudaStreamDestroy(self->side);
    if (self->stream)
        (void)cudaStreamDestroy(self->stream);
    free(self);
}

static void nccl_close(struct gw_comm *comm)
{
    struct gw_comm *host = ((struct gw_nccl *)comm)->host;
    nccl_free((struct gw_nccl *)comm);
    gw_comm_close(host);
}

static int nccl_split(struct gw_comm *comm, const struct gw_comm_part *split,
                      struct gw_comm **child, struct gw_error *error);

/* Control communicators need no device. */
static int nccl_multiply(struct gw_comm *comm, int each, struct gw_comm **children,
                         struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    int rc = gw_nccl_wait_begin(self, GW_COMM_SPLIT, error);
    return rc < 0 ? rc : self->host->backend->multiply(self->host, each, children, error);
}

static const struct gw_comm_backend nccl_backend = {
    .name = "nccl",
    .has_streams = true,
    .run = nccl_run,
    .wait = nccl_wait,
    .alloc = gw_nccl_memory_alloc,
    .dealloc = gw_nccl_memory_dealloc,
    .abort = nccl_abort,
    .close = nccl_close,
    .split = nccl_split,
    .multiply = nccl_multiply,
    .group = nccl_group,
    .stream = nccl_stream,
    .follow = nccl_follow,
    .reg = gw_nccl_memory_register,
    .unreg = gw_nccl_memory_unregister,
    .nccl = nccl_handle,
    .zero = gw_nccl_memory_zero,
    .copy = gw_nccl_memory_copy_out,
    .reaches = gw_nccl_memory_reaches,
};

/* Creates a rank that uses `host` without owning it. nccl_init creates its streams and events
 * later. */
static struct gw_nccl *nccl_new(struct gw_comm *host, int device, uint64_t timeout_ns)
{
    struct gw_nccl *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    gw_comm_backend_init(&self->comm, &nccl_backend, host->rank, host->size);
    gw_comm_set_timeout(&self->comm, timeout_ns);
    self->comm.pulse = host->pulse;
    self->host = host;
    self->segment = host->backend->segment(host);
    self->device = device;
    return self;
}

/* Creates the streams and events of the device. */
static int nccl_init(struct gw_nccl *self, struct gw_error *error)
{
    int rc = gw_nccl_wait_begin(self, GW_COMM_JOIN, error);
    if (rc < 0)
        return rc;
    cudaError_t cuda = cudaStreamCreateWithFlags(&self->stream, cudaStreamDefault);
    if (cuda == cudaSuccess)
        cuda = cudaStreamCreateWithFlags(&self->side, cudaStreamNonBlocking);
    if (cuda == cudaSuccess)
        cuda = cudaEventCreateWithFlags(&self->event, cudaEventDisableTiming);
    if (cuda == cudaSuccess)
        cuda = cudaEventCreateWithFlags(&self->order, cudaEventDisableTiming);
    void *replays = NULL;
    if (cuda == cudaSuccess)
        cuda = cudaHostAlloc(&replays, sizeof *self->replays, cudaHostAllocMapped);
    if (cuda == cudaSuccess)
        self->replays = memset(replays, 0, sizeof *self->replays);
    return cuda == cudaSuccess ? 0 : gw_nccl_wait_broken(self, "a stream of the GPU", cuda, error);
}

/* What rank 0 sends to the other ranks: NCCL's id, or the error. */
struct invitation {
    ncclUniqueId id;
    int32_t status;   /* an ncclResult_t */
    int32_t compares; /* gw_nccl.compares: all ranks must meet, or none */
};

/* Rank 0 sends NCCL's id through the host communicator. Every communicator has a new id, so a
 * process of an earlier attempt cannot join it. */
static int nccl_join(struct gw_nccl *self, struct gw_error *error)
{
    struct invitation invitation = {0};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    int rc = nccl_init(self, error);
    if (rc < 0)
        return rc;
    const char *check = getenv("GANGWAY_COMM_CHECK");
    if (self->comm.rank == 0)
        invitation.status = ncclGetUniqueId(&invitation.id);
    invitation.compares = check && strcmp(check, "1") == 0;
    rc = gw_comm_broadcast(
        self->host,
        GW_COMM_ARGS(.recv = &invitation, .count = sizeof invitation, .dtype = GW_DTYPE_U8), error);
    if (rc < 0)
        return rc;
    if (invitation.status != ncclSuccess)
        return gw_nccl_wait_failed(self, (ncclResult_t)invitation.status, error);
    self->compares = invitation.compares;
    config.blocking = 0;
    ncclResult_t started = ncclCommInitRankConfig(&self->nccl, self->comm.size, invitation.id,
                                                  self->comm.rank, &config);
    if (!has_started(started))
        return gw_nccl_wait_failed(self, started, error);
    rc = gw_nccl_wait_event(self, NULL, error);
    if (rc == 0)
        rc = gw_comm_barrier(self->host, error);
    return rc < 0 ? rc : gw_nccl_watch_add(self, error);
}

int gw_nccl_comm_device_check(int device, struct gw_error *error)
{
    int devices = 0;
    cudaError_t cuda = cudaGetDeviceCount(&devices);
    if (cuda != cudaSuccess)
        return gw_error_set(error, GW_ENOTSUP, "no GPU: %s", cudaGetErrorString(cuda));
    if (device < 0 || device >= devices)
        return gw_error_set(error, GW_EINVAL, "there is no GPU %d: this process sees %d GPUs",
                            device, devices);
    return 0;
}

int gw_nccl_comm_open(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                      struct gw_error *error)
{
    struct gw_nccl *self = nccl_new(options->host, options->device, options->timeout_ns);
    if (!self) { /* the other ranks wait for this one: abort */
        gw_comm_abort(options->host, GW_ENOMEM, options->host->rank);
        return gw_error_set(error, GW_ENOMEM, "communicator");
    }
    int rc = nccl_join(self, error);
    if (rc < 0) {
        nccl_free(self);
        return rc;
    }
    *comm = &self->comm;
    return 0;
}

/* -- Parts ---------------------------------------------------------------------------------------
 */

/* Splits the NCCL communicator. NCCL requires all ranks of the parent, also ranks that join no
 * part. */
static int part_join(struct gw_nccl *self, const struct gw_comm_part *split, struct gw_nccl *part,
                     struct gw_error *error)
{
    ncclComm_t nccl = NULL;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    gw_nccl_watch_lock();
    ncclResult_t started =
        self->nccl ? ncclCommSplit(self->nccl, part ? split->colour : NCCL_SPLIT_NOCOLOR,
                                   part ? part->comm.rank : 0, &nccl, &config)
                   : ncclInvalidUsage;
    gw_nccl_watch_unlock();
    if (!has_started(started))
        return gw_nccl_wait_failed(self, started, error);
    int rc = gw_nccl_wait_event(self, NULL, error);
    if (rc == 0 && nccl)
        rc = gw_nccl_wait_comm(self, nccl, error);
    if (part)
        part->nccl = nccl; /* also if the split failed: it is destroyed with the part */
    if (rc == 0 && part)
        rc = nccl_init(part, error);
    return rc < 0 || !part ? rc : gw_nccl_watch_add(part, error);
}

static int nccl_split(struct gw_comm *comm, const struct gw_comm_part *split,
                      struct gw_comm **child, struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm, *part = NULL;
    struct gw_comm *host = NULL;
    int32_t worst;
    int rc = gw_nccl_wait_begin(self, GW_COMM_SPLIT, error);
    if (rc == 0)
        rc = self->host->backend->split(self->host, split, &host, error);
    if (rc < 0)
        return rc; /* a communicator that broke is destroyed by the next operation or by close */
    if (host)
        part = nccl_new(host, self->device, comm->timeout_ns);
    if (host && !part) { /* the other ranks wait for this one: abort */
        gw_comm_abort(comm, GW_ENOMEM, comm->rank);
        rc = gw_error_set(error, GW_ENOMEM, "split");
    }
    if (part)
        part->compares = self->compares;
    if (rc == 0)
        rc = part_join(self, split, part, error);
    if (rc == 0)
        rc = gw_nccl_wait_meet(self, &(const struct gw_segment_call){.verb = GW_COMM_SPLIT}, &worst,
                               error);
    if (rc == 0) {
        *child = part ? &part->comm : NULL;
        return 0;
    }
    if (part)
        nccl_free(part);
    gw_comm_close(host);
    return rc;
}
