/* The functions of comm.h. They check the arguments, fill in the buffers that in-place calls leave
 * out, and call the backend. A backend does not check arguments again. */
#include <gangway/comm.h>

#include "gpu/base/comm_backend.h"
#include <string.h>

static int run(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
               struct gw_error *error)
{
    if (comm->group)
        return gw_comm_group_add(comm->group, &(const struct gw_comm_item){verb, *args}, error);
    gw_comm_backend_begin(comm, verb);
    int rc = comm->backend->run(comm, verb, args, error);
    gw_comm_backend_end(comm);
    return rc;
}

int gw_comm_rank(const struct gw_comm *comm)
{
    return comm->rank;
}

int gw_comm_size(const struct gw_comm *comm)
{
    return comm->size;
}

const char *gw_comm_backend(const struct gw_comm *comm)
{
    return comm->backend->name;
}

/* Checks the arguments that all operations that move data have in common. */
static int args_check(const struct gw_comm *comm, enum gw_comm_verb verb,
                      const struct gw_comm_args *args, struct gw_error *error)
{
    const char *name = gw_comm_backend_verb_name(verb);
    const bool scattered = verb == GW_COMM_ALL_GATHER || verb == GW_COMM_REDUCE_SCATTER;
    const bool reduces = verb == GW_COMM_ALL_REDUCE || verb == GW_COMM_REDUCE_SCATTER;
    size_t bytes;

    if (!gw_dtype_is_valid(args->dtype))
        return gw_error_set(error, GW_EINVAL,
                            "%s: %d is no element type: set .dtype to one of GW_DTYPE_...", name,
                            (int)args->dtype);
    if (reduces && ((int)args->reduce < 0 || (int)args->reduce > GW_REDUCE_AVG))
        return gw_error_set(error, GW_EINVAL,
                            "%s: %d is no reduction: set .reduce to one of GW_REDUCE_...", name,
                            (int)args->reduce);
    if (args->root < 0 || args->root >= comm->size)
        return gw_error_set(
            error, GW_EINVAL,
            "%s: there is no rank %d: the communicator has %d ranks, numbered from 0", name,
            args->root, comm->size);
    if (__builtin_mul_overflow(args->count, gw_dtype_size(args->dtype), &bytes) ||
        __builtin_mul_overflow(bytes, scattered ? (size_t)comm->size : 1, &bytes) ||
        bytes > PTRDIFF_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "%s: %zu elements are more bytes than a buffer can have", name,
                            args->count);
    if (args->stream && !comm->backend->has_streams)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the %s backend has no streams: leave .stream NULL", name,
                            comm->backend->name);
    return 0;
}

int gw_comm_all_reduce(struct gw_comm *comm, const struct gw_comm_args *args,
                       struct gw_error *error)
{
    struct gw_comm_args full = *args;
    int rc = args_check(comm, GW_COMM_ALL_REDUCE, &full, error);
    if (rc < 0)
        return rc;
    if (full.count > 0 && !full.recv)
        return gw_error_set(error, GW_EINVAL,
                            "all_reduce: .recv is NULL: set it to the buffer for the result");
    full.send = full.send ? full.send : full.recv;
    full.root = 0;
    return run(comm, GW_COMM_ALL_REDUCE, &full, error);
}

int gw_comm_broadcast(struct gw_comm *comm, const struct gw_comm_args *args, struct gw_error *error)
{
    struct gw_comm_args full = *args;
    int rc = args_check(comm, GW_COMM_BROADCAST, &full, error);
    if (rc < 0)
        return rc;
    if (full.count > 0 && !full.recv)
        return gw_error_set(error, GW_EINVAL,
                            "broadcast: .recv is NULL: set it to the buffer for the data");
    full.send = full.send ? full.send : full.recv;
    full.reduce = GW_REDUCE_SUM;
    return run(comm, GW_COMM_BROADCAST, &full, error);
}

int gw_comm_all_gather(struct gw_comm *comm, const struct gw_comm_args *args,
                       struct gw_error *error)
{
    struct gw_comm_args full = *args;
    int rc = args_check(comm, GW_COMM_ALL_GATHER, &full, error);
    if (rc < 0)
        return rc;
    if (full.count > 0 && !full.recv)
        return gw_error_set(
            error, GW_EINVAL,
            "all_gather: .recv is NULL: set it to the buffer for the elements of all ranks");
    if (!full.send && full.recv)
        full.send = (char *)full.recv + full.count * gw_dtype_size(full.dtype) * (size_t)comm->rank;
    full.root = 0;
    full.reduce = GW_REDUCE_SUM;
    return run(comm, GW_COMM_ALL_GATHER, &full, error);
}

int gw_comm_reduce_scatter(struct gw_comm *comm, const struct gw_comm_args *args,
                           struct gw_error *error)
{
    struct gw_comm_args full = *args;
    int rc = args_check(comm, GW_COMM_REDUCE_SCATTER, &full, error);
    if (rc < 0)
        return rc;
    if (full.count > 0 && !full.send)
        return gw_error_set(error, GW_EINVAL,
                            "reduce_scatter: .send is NULL: set it to the elements to reduce");
    if (!full.recv && full.send) {
        uintptr_t send =
            (uintptr_t)full.send; /* in place: comm.h documents that send is written to */
        full.recv = (void *)(send + full.count * gw_dtype_size(full.dtype) * (size_t)comm->rank);
    }
    full.root = 0;
    return run(comm, GW_COMM_REDUCE_SCATTER, &full, error);
}

static int run_pair(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
                    struct gw_error *error)
{
    struct gw_comm_args full = *args;
    int rc = args_check(comm, verb, &full, error);
    if (rc < 0)
        return rc;
    if (full.root == comm->rank)
        return gw_error_set(error, GW_EINVAL,
                            "%s: rank %d cannot send to itself or receive from itself",
                            gw_comm_backend_verb_name(verb), full.root);
    if (full.count > 0 && (verb == GW_COMM_SEND ? !full.send : !full.recv))
        return gw_error_set(error, GW_EINVAL, "%s: the buffer is NULL",
                            gw_comm_backend_verb_name(verb));
    full.reduce = GW_REDUCE_SUM;
    return run(comm, verb, &full, error);
}

int gw_comm_send(struct gw_comm *comm, const struct gw_comm_args *args, struct gw_error *error)
{
    return run_pair(comm, GW_COMM_SEND, args, error);
}

int gw_comm_recv(struct gw_comm *comm, const struct gw_comm_args *args, struct gw_error *error)
{
    return run_pair(comm, GW_COMM_RECV, args, error);
}

int gw_comm_barrier(struct gw_comm *comm, struct gw_error *error)
{
    const struct gw_comm_args args = {.dtype = GW_DTYPE_U8};
    return run(comm, GW_COMM_BARRIER, &args, error);
}

/* Returns an error inside a group. The operation would have to run before the operations that the
 * group has only recorded. */
static int refuse_in_group(const struct gw_comm *comm, enum gw_comm_verb verb,
                           struct gw_error *error)
{
    return comm->group ? gw_error_set(error, GW_EINVAL, "%s: not allowed inside a group",
                                      gw_comm_backend_verb_name(verb))
                       : 0;
}

int gw_comm_wait(struct gw_comm *comm, void *stream, struct gw_error *error)
{
    int rc = refuse_in_group(comm, GW_COMM_WAIT, error);
    if (rc < 0)
        return rc;
    gw_comm_backend_begin(comm, GW_COMM_WAIT);
    rc = comm->backend->wait(comm, stream, error);
    gw_comm_backend_end(comm);
    return rc;
}

int gw_comm_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error)
{
    if (bytes == 0 || bytes > PTRDIFF_MAX)
        return gw_error_set(error, GW_EINVAL, "alloc: invalid size: %zu bytes", bytes);
    int rc = refuse_in_group(comm, GW_COMM_ALLOC, error);
    if (rc < 0)
        return rc;
    gw_comm_backend_begin(comm, GW_COMM_ALLOC);
    rc = comm->backend->alloc(comm, bytes, memory, error);
    gw_comm_backend_end(comm);
    return rc;
}

void gw_comm_dealloc(struct gw_comm *comm, void *memory)
{
    if (memory)
        comm->backend->dealloc(comm, memory);
}

int gw_comm_split(struct gw_comm *comm, const struct gw_comm_part *split, struct gw_comm **child,
                  struct gw_error *error)
{
    int rc = refuse_in_group(comm, GW_COMM_SPLIT, error);
    if (rc < 0)
        return rc;
    gw_comm_backend_begin(comm, GW_COMM_SPLIT);
    rc = comm->backend->split(comm, split, child, error);
    gw_comm_backend_end(comm);
    return rc;
}

int gw_comm_multiply(struct gw_comm *comm, int each, struct gw_comm **children,
                     struct gw_error *error)
{
    int rc = refuse_in_group(comm, GW_COMM_SPLIT, error);
    if (rc < 0)
        return rc;
    if ((int64_t)comm->size * each > GW_COMM_HOST_RANKS_MAX)
        return gw_error_set(error, GW_EINVAL, "a communicator cannot have %d x %d ranks (1 to %d)",
                            comm->size, each, GW_COMM_HOST_RANKS_MAX);
    gw_comm_backend_begin(comm, GW_COMM_SPLIT);
    rc = comm->backend->multiply(comm, each, children, error);
    gw_comm_backend_end(comm);
    return rc;
}

int gw_comm_register(struct gw_comm *comm, void *memory, size_t bytes, struct gw_error *error)
{
    if (!memory || bytes == 0 || bytes > PTRDIFF_MAX)
        return gw_error_set(error, GW_EINVAL, "register: invalid memory: %zu bytes at %p", bytes,
                            memory);
    if (!comm->backend->reg)
        return gw_error_set(error, GW_ENOTSUP,
                            "register: the %s backend accesses without a copy only memory of "
                            "gw_comm_alloc",
                            comm->backend->name);
    return comm->backend->reg(comm, memory, bytes, error);
}

void gw_comm_unregister(struct gw_comm *comm, void *memory)
{
    if (memory && comm->backend->unreg)
        comm->backend->unreg(comm, memory);
}

static int refuse_streams(const struct gw_comm *comm, struct gw_error *error)
{
    return gw_error_set(error, GW_ENOTSUP, "the %s backend has no streams", comm->backend->name);
}

int gw_comm_stream(struct gw_comm *comm, void **stream, struct gw_error *error)
{
    return comm->backend->stream ? comm->backend->stream(comm, stream, error)
                                 : refuse_streams(comm, error);
}

int gw_comm_follow(struct gw_comm *comm, void *stream, void *after, struct gw_error *error)
{
    return comm->backend->follow ? comm->backend->follow(comm, stream, after, error)
                                 : refuse_streams(comm, error);
}

int gw_comm_nccl(struct gw_comm *comm, struct ncclComm **handle, struct gw_error *error)
{
    return comm->backend->nccl
               ? comm->backend->nccl(comm, handle, error)
               : gw_error_set(error, GW_ENOTSUP, "the %s backend has no NCCL communicator",
                              comm->backend->name);
}

int gw_comm_zero(struct gw_comm *comm, const struct gw_comm_span *span, struct gw_error *error)
{
    if (comm->backend->zero)
        return comm->backend->zero(comm, span, error);
    memset(span->memory, 0, span->bytes);
    return 0;
}

int gw_comm_copy(struct gw_comm *comm, const struct gw_comm_span *to, const void *from,
                 struct gw_error *error)
{
    if (comm->backend->copy)
        return comm->backend->copy(comm, to, from, error);
    memcpy(to->memory, from, to->bytes);
    return 0;
}

bool gw_comm_reaches(struct gw_comm *comm, const void *memory)
{
    return !comm->backend->reaches || comm->backend->reaches(comm, memory);
}

void gw_comm_close(struct gw_comm *comm)
{
    if (!comm)
        return;
    gw_comm_group_free(comm->group);
    comm->backend->close(comm);
}
