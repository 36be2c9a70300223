/* The host backend: collectives among ranks that share a segment.
 *
 * Every collective is a sequence of steps. In a step each rank publishes its call and one stage of
 * data, and waits for all other ranks. All ranks make the same steps. So if a rank has published
 * step s + 1, it has finished reading the stages of step s - 1. Therefore each rank needs only two
 * stages, which it uses in turn. There are three methods:
 *
 *   small:   the data is in the stage of the first step; each rank reduces all of it
 *   direct:  the buffers of all ranks are in memory of gw_comm_alloc. The first step publishes
 * their places, each rank reduces its slice in place, and a second step ends the operation chunked:
 * all other buffers; the data goes through the stages in chunks
 *
 * All methods reduce in the order of the ranks 0, 1, 2 ..., so they give the same bits. */
#include "gpu/host/comm_host.h"

#include "gpu/base/reduce.h"
#include "gpu/host/comm_split.h"
#include "graph/base/options_read.h"
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_BYTES = 16 << 10,
    SPIN_NS = 20000,
    WHOLE_RANKS_MAX = 4, /* with at most this many ranks, each rank reduces whole chunks; with more,
                            each rank reduces a slice */
    SLICE_ALIGN = 1024,  /* slices start at multiples of this many elements, so that no two ranks
                            write to one cache line */
};

/* A collective in progress. */
struct op {
    struct gw_comm_host *host;
    const struct gw_comm_args *args;
    struct gw_segment_call call;
    size_t element_bytes;
    struct gw_error *error;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int op_step(struct op *op)
{
    return gw_comm_host_step(op->host, &op->call, op->error);
}

/* Returns this rank's stage of the next step. */
static char *op_next_stage(const struct op *op)
{
    return gw_segment_stage(op->host->segment, op->host->comm.rank, op->host->step + 1);
}

/* Returns a rank's stage of the last step. */
static char *op_stage(const struct op *op, int rank)
{
    return gw_segment_stage(op->host->segment, rank, op->host->step);
}

static const char *op_send(const struct op *op, size_t element)
{
    return (const char *)op->args->send + element * op->element_bytes;
}

static char *op_recv(const struct op *op, size_t element)
{
    return (char *)op->args->recv + element * op->element_bytes;
}

static void op_copy(const struct op *op, void *to, const void *from, size_t count)
{
    if (to != from && count > 0)
        memmove(to, from, count * op->element_bytes);
}

/* Reduces `count` elements, starting at element `at`, of all ranks' stages of the last step. */
static void op_reduce_stages(const struct op *op, size_t at, size_t count, void *target)
{
    const void *sources[GW_COMM_HOST_RANKS_MAX];
    for (int i = 0; i < op->host->comm.size; i++)
        sources[i] = op_stage(op, i);
    gw_reduce_run(&(const struct gw_reduction){
        .dtype = op->args->dtype,
        .reduce = op->args->reduce,
        .divisor = op->host->divisor,
        .sources = op->host->comm.size,
        .source = sources,
        .targets = 1,
        .target = &target,
        .source_at = at,
        .count = count,
    });
}

/* Returns the first element of a rank's slice, if `count` elements are divided among all ranks. For
 * rank == size it returns count. */
static size_t slice_begin(const struct op *op, size_t count, int rank)
{
    const size_t size = (size_t)op->host->comm.size;
    size_t each = (count + size - 1) / size;
    each = (each + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN;
    return min_size(each * (size_t)rank, count);
}

/* Writes the addresses of all ranks' send or recv buffers. Returns false if a buffer is not in
 * shared memory. */
static bool op_direct(const struct op *op, size_t elements, bool send, void **addresses)
{
    for (int i = 0; i < op->host->comm.size; i++) {
        const struct gw_segment_call *call = gw_comm_host_call(op->host, i);
        uint64_t where = send ? call->send_at : call->recv_at;
        addresses[i] = gw_comm_host_memory_at(op->host, where, elements * op->element_bytes);
        if (!addresses[i])
            return false;
    }
    return true;
}

static int all_reduce_direct(struct op *op, void *const *sends, void *const *recvs)
{
    const int size = op->host->comm.size, rank = op->host->comm.rank;
    const size_t begin = slice_begin(op, op->args->count, rank);
    gw_reduce_run(&(const struct gw_reduction){
        .dtype = op->args->dtype,
        .reduce = op->args->reduce,
        .divisor = op->host->divisor,
        .sources = size,
        .source = (const void *const *)sends,
        .targets = size,
        .target = recvs,
        .source_at = begin,
        .target_at = begin,
        .count = slice_begin(op, op->args->count, rank + 1) - begin,
    });
    return op_step(op);
}

/* Reduces this rank's slice of a chunk into its stage of the next step. After that step all ranks
 * copy all slices. This is used with more than WHOLE_RANKS_MAX ranks. */
static int all_reduce_slices(struct op *op, size_t at, size_t count)
{
    const int size = op->host->comm.size;
    const size_t begin = slice_begin(op, count, op->host->comm.rank);
    const size_t end = slice_begin(op, count, op->host->comm.rank + 1);
    op_reduce_stages(op, begin, end - begin, op_next_stage(op));
    int rc = op_step(op);
    if (rc < 0)
        return rc;
    for (int i = 0; i < size; i++) {
        size_t from = slice_begin(op, count, i);
        op_copy(op, op_recv(op, at + from), op_stage(op, i), slice_begin(op, count, i + 1) - from);
    }
    return 0;
}

static int all_reduce(struct op *op)
{
    const size_t count = op->args->count;
    const size_t chunk = GW_SEGMENT_STAGE_BYTES / op->element_bytes;
    const bool small = count * op->element_bytes <= SMALL_BYTES;
    void *sends[GW_COMM_HOST_RANKS_MAX], *recvs[GW_COMM_HOST_RANKS_MAX];

    if (small)
        op_copy(op, op_next_stage(op), op_send(op, 0), count);
    int rc = op_step(op);
    if (rc == 0)
        rc = gw_comm_host_agree(op->host, op->error);
    if (rc < 0)
        return rc;
    if (small) {
        op_reduce_stages(op, 0, count, op->args->recv);
        return 0;
    }
    if (op_direct(op, count, true, sends) && op_direct(op, count, false, recvs))
        return all_reduce_direct(op, sends, recvs);

    for (size_t at = 0; at < count && rc == 0; at += chunk) {
        size_t part = min_size(chunk, count - at);
        op_copy(op, op_next_stage(op), op_send(op, at), part);
        rc = op_step(op);
        if (rc == 0 && op->host->comm.size > WHOLE_RANKS_MAX)
            rc = all_reduce_slices(op, at, part);
        else if (rc == 0)
            op_reduce_stages(op, 0, part, op_recv(op, at));
    }
    return rc;
}

static int broadcast(struct op *op)
{
    const size_t count = op->args->count;
    const size_t chunk = GW_SEGMENT_STAGE_BYTES / op->element_bytes;
    const int root = op->args->root;
    const bool is_root = op->host->comm.rank == root;
    const bool small = count * op->element_bytes <= SMALL_BYTES;

    if (small && is_root)
        op_copy(op, op_next_stage(op), op_send(op, 0), count);
    int rc = op_step(op);
    if (rc == 0)
        rc = gw_comm_host_agree(op->host, op->error);
    if (rc < 0)
        return rc;
    if (is_root)
        op_copy(op, op_recv(op, 0), op_send(op, 0), count);
    if (small) {
        if (!is_root)
            op_copy(op, op_recv(op, 0), op_stage(op, root), count);
        return 0;
    }

    const void *direct = gw_comm_host_memory_at(
        op->host, gw_comm_host_call(op->host, root)->send_at, count * op->element_bytes);
    if (direct) {
        if (!is_root)
            op_copy(op, op_recv(op, 0), direct, count);
        return op_step(op);
    }
    for (size_t at = 0; at < count && rc == 0; at += chunk) {
        size_t part = min_size(chunk, count - at);
        if (is_root)
            op_copy(op, op_next_stage(op), op_send(op, at), part);
        rc = op_step(op);
        if (rc == 0 && !is_root)
            op_copy(op, op_recv(op, at), op_stage(op, root), part);
    }
    return rc;
}

static int all_gather(struct op *op)
{
    const int size = op->host->comm.size, rank = op->host->comm.rank;
    const size_t count = op->args->count;
    const size_t chunk = GW_SEGMENT_STAGE_BYTES / op->element_bytes;
    const bool small = count * op->element_bytes <= SMALL_BYTES;
    void *sends[GW_COMM_HOST_RANKS_MAX];

    if (small)
        op_copy(op, op_next_stage(op), op_send(op, 0), count);
    int rc = op_step(op);
    if (rc == 0)
        rc = gw_comm_host_agree(op->host, op->error);
    if (rc < 0)
        return rc;
    op_copy(op, op_recv(op, (size_t)rank * count), op_send(op, 0), count);
    if (!small && op_direct(op, count, true, sends)) {
        for (int i = 0; i < size; i++)
            if (i != rank)
                op_copy(op, op_recv(op, (size_t)i * count), sends[i], count);
        return op_step(op);
    }

    for (size_t at = 0; at < count && rc == 0; at += chunk) {
        size_t part = min_size(chunk, count - at);
        if (!small) {
            op_copy(op, op_next_stage(op), op_send(op, at), part);
            rc = op_step(op);
        }
        for (int i = 0; i < size && rc == 0; i++)
            if (i != rank)
                op_copy(op, op_recv(op, (size_t)i * count + at), op_stage(op, i), part);
    }
    return rc;
}

/* Copies elements `at` to `at + part` of every rank's part of send into the stage, one rank's part
 * after the other. */
static void reduce_scatter_stage(const struct op *op, size_t at, size_t part)
{
    char *stage = op_next_stage(op);
    for (int i = 0; i < op->host->comm.size; i++)
        op_copy(op, stage + (size_t)i * part * op->element_bytes,
                op_send(op, (size_t)i * op->args->count + at), part);
}

static int reduce_scatter(struct op *op)
{
    const size_t size = (size_t)op->host->comm.size, rank = (size_t)op->host->comm.rank;
    const size_t count = op->args->count;
    const size_t chunk = GW_SEGMENT_STAGE_BYTES / op->element_bytes / size;
    const bool small = count * size * op->element_bytes <= SMALL_BYTES;
    void *sends[GW_COMM_HOST_RANKS_MAX];

    if (small)
        reduce_scatter_stage(op, 0, count);
    int rc = op_step(op);
    if (rc == 0)
        rc = gw_comm_host_agree(op->host, op->error);
    if (rc < 0)
        return rc;
    if (!small && op_direct(op, count * size, true, sends)) {
        gw_reduce_run(&(const struct gw_reduction){
            .dtype = op->args->dtype,
            .reduce = op->args->reduce,
            .divisor = op->host->divisor,
            .sources = (int)size,
            .source = (const void *const *)sends,
            .targets = 1,
            .target = &op->args->recv,
            .source_at = rank * count,
            .count = count,
        });
        return op_step(op);
    }

    for (size_t at = 0; at < count && rc == 0; at += chunk) {
        size_t part = min_size(chunk, count - at);
        if (!small) {
            reduce_scatter_stage(op, at, part);
            rc = op_step(op);
        }
        if (rc == 0)
            op_reduce_stages(op, rank * part, part, op_recv(op, at));
    }
    return rc;
}

static int barrier(struct op *op)
{
    int rc = op_step(op);
    return rc < 0 ? rc : gw_comm_host_agree(op->host, op->error);
}

static int host_run(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
                    struct gw_error *error)
{
    static int (*const collectives[])(struct op *) = {
        [GW_COMM_BARRIER] = barrier,
        [GW_COMM_ALL_REDUCE] = all_reduce,
        [GW_COMM_BROADCAST] = broadcast,
        [GW_COMM_ALL_GATHER] = all_gather,
        [GW_COMM_REDUCE_SCATTER] = reduce_scatter,
    };
    struct gw_comm_host *host = (struct gw_comm_host *)comm;
    int rc = gw_comm_host_begin(host, verb, error);
    if (rc < 0)
        return rc;
    if (verb == GW_COMM_SEND)
        return gw_comm_host_pair_send(host, args, error);
    if (verb == GW_COMM_RECV)
        return gw_comm_host_pair_recv(host, args, error);

    const size_t element_bytes = gw_dtype_size(args->dtype);
    const size_t bytes = args->count * element_bytes;
    const size_t send_parts = verb == GW_COMM_REDUCE_SCATTER ? (size_t)comm->size : 1;
    const size_t recv_parts = verb == GW_COMM_ALL_GATHER ? (size_t)comm->size : 1;
    struct op op = {
        .host = host,
        .args = args,
        .element_bytes = element_bytes,
        .error = error,
        .call =
            {
                .verb = (uint32_t)verb,
                .dtype = (uint32_t)args->dtype,
                .reduce = (uint32_t)args->reduce,
                .root = args->root,
                .count = args->count,
                .agreed = comm->agreed,
                .send_at = gw_comm_host_memory_where(host, args->send, bytes * send_parts),
                .recv_at = gw_comm_host_memory_where(host, args->recv, bytes * recv_parts),
            },
    };
    return collectives[verb](&op);
}

static int host_wait(struct gw_comm *comm, void *stream, struct gw_error *error)
{
    if (stream)
        return gw_error_set(error, GW_EINVAL, "wait: the host backend has no streams");
    return gw_segment_broken(((struct gw_comm_host *)comm)->segment, error);
}

static void host_abort(struct gw_comm *comm, int cause, int rank)
{
    gw_segment_abort(((struct gw_comm_host *)comm)->segment, cause, rank);
}

static void host_close(struct gw_comm *comm)
{
    struct gw_comm_host *host = (struct gw_comm_host *)comm;
    atomic_store(&gw_segment_rank(host->segment, comm->rank)->presence, GW_COMM_CLOSED);
    for (int i = 0; i < comm->size; i++)
        gw_segment_wake(host->segment, comm->rank, i);
    gw_comm_host_memory_deinit(host);
    gw_segment_unref(host->segment);
    free(host);
}

static struct gw_comm_split_site host_site(struct gw_comm *comm)
{
    return (struct gw_comm_split_site){.comm = comm,
                                       .segment = ((struct gw_comm_host *)comm)->segment,
                                       .hosts = 1,
                                       .open_host = gw_comm_open_host};
}

static int host_split(struct gw_comm *comm, const struct gw_comm_part *split,
                      struct gw_comm **child, struct gw_error *error)
{
    const struct gw_comm_split_site site = host_site(comm);
    return gw_comm_split_host(&site, split, child, error);
}

static int host_multiply(struct gw_comm *comm, int each, struct gw_comm **children,
                         struct gw_error *error)
{
    const struct gw_comm_split_site site = host_site(comm);
    return gw_comm_split_multiply(&site, each, children, error);
}

static int host_meet(struct gw_comm *comm, const struct gw_segment_call *call, int32_t *worst,
                     struct gw_error *error)
{
    struct gw_comm_host *host = (struct gw_comm_host *)comm;
    int rc = gw_comm_host_begin(host, (enum gw_comm_verb)call->verb, error);
    if (rc == 0)
        rc = gw_comm_host_step(host, call, error);
    if (rc == 0)
        rc = gw_comm_host_agree(host, error);
    *worst = 0;
    for (int i = 0; rc == 0 && i < comm->size; i++) {
        const int32_t theirs = gw_comm_worst((int)gw_comm_host_call(host, i)->status, i);
        *worst = theirs < *worst ? theirs : *worst;
    }
    return rc;
}

static struct gw_segment *host_segment(const struct gw_comm *comm)
{
    return ((const struct gw_comm_host *)comm)->segment;
}

static const struct gw_comm_backend host_backend = {
    .name = "host",
    .has_streams = false,
    .split = host_split,
    .multiply = host_multiply,
    .meet = host_meet,
    .segment = host_segment,
    .run = host_run,
    .wait = host_wait,
    .alloc = gw_comm_host_memory_alloc,
    .dealloc = gw_comm_host_memory_dealloc,
    .abort = host_abort,
    .close = host_close,
};

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int gw_comm_open_host(const struct gw_comm_host_options *given, struct gw_comm **comm,
                      struct gw_error *error)
{
    struct gw_comm_host_options read;
    const struct gw_comm_host_options *options = &read;
    struct gw_segment *segment;
    uint32_t absent = GW_COMM_ABSENT;
    int rc = GW_OPTIONS_READ(&read, given, gw_comm_host_options, error);
    if (rc == 0)
        rc = gw_segment_ref(options->fd, &segment, error);
    if (rc < 0)
        return rc;

    const int ranks = (int)gw_segment_header(segment)->ranks;
    struct gw_comm_host *host = calloc(1, sizeof *host);
    if (!host)
        rc = gw_error_set(error, GW_ENOMEM, "communicator");
    else if (options->ranks != ranks)
        rc = gw_error_set(error, GW_EMISMATCH,
                          "the segment was made for %d ranks, but the option `ranks` is %d", ranks,
                          options->ranks);
    else if (options->rank < 0 || options->rank >= ranks)
        rc = gw_error_set(error, GW_EINVAL, "there is no rank %d among %d ranks", options->rank,
                          ranks);
    else if (!atomic_compare_exchange_strong(&gw_segment_rank(segment, options->rank)->presence,
                                             &absent, GW_COMM_OPEN))
        rc = gw_error_set(
            error, GW_EEXIST,
            "a process has already joined this segment as rank %d: each rank joins once",
            options->rank);
    if (rc < 0) {
        free(host);
        gw_segment_unref(segment);
        return rc;
    }
    gw_comm_backend_init(&host->comm, &host_backend, options->rank, ranks);
    gw_comm_set_timeout(&host->comm, options->timeout_ns);
    host->segment = segment;
    host->comm.pulse = &gw_segment_rank(segment, options->rank)->pulse;
    host->spin_ns = ranks <= processors() ? SPIN_NS : 0;
    *comm = &host->comm;
    return 0;
}
