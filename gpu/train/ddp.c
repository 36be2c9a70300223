/* Gradient buckets. All gradients are in one block that the communicator allocated, one bucket
 * after another. The reduction of a bucket starts when all its parameters are ready and the
 * reductions of all buckets before it have started. So every rank starts them in the same order.
 * The block may be device memory, so only the communicator accesses it. */
#include <gangway/ddp.h>

#include "gpu/base/comm_backend.h"
#include "gpu/train/ddp_agree.h"
#include "gpu/train/ddp_thread.h"
#include "gpu/train/ddp_wire.h"
#include "graph/base/options_read.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = 64 };

struct param {
    char name[GW_DDP_NAME_MAX];
    void *data;
    enum gw_dtype dtype;
    size_t count, bytes;
    size_t bucket;
    size_t offset; /* offset in the block, in bytes */
    bool ready;    /* marked ready in this pass */
};

struct bucket {
    enum gw_dtype dtype;
    size_t first;   /* its first parameter, which has the highest index */
    size_t offset;  /* offset in the block, in bytes */
    size_t bytes;   /* including the padding that aligns the parameters */
    size_t params;  /* number of parameters */
    size_t pending; /* number of parameters that are not ready */
    bool closed;
};

struct gw_ddp {
    struct gw_comm *comm;
    struct gw_comm *reducer;      /* reduces the buckets: `comm`, or a communicator for `thread` */
    struct gw_ddp_thread *thread; /* NULL: gw_ddp_ready reduces, or the device */
    void *stream;                 /* the stream of backward; NULL: none */
    void *reduces; /* the stream of the reductions: the communicator's own stream or `stream` */
    bool find_unused;
    struct param *params;
    size_t params_count;
    struct bucket *buckets;
    size_t buckets_count;
    size_t launched; /* number of buckets whose reduction has started in this pass */
    char *block;
    size_t block_bytes;
    struct gw_ddp_wire wire;
    int32_t *used;  /* [params_count]: parameters that this rank used since the last reduction */
    int32_t *users; /* [params_count]: by how many ranks, at the last reduction */
    char *unused;   /* room for gradients that no rank used; from gw_comm_alloc, or NULL */
    size_t unused_bytes;
    size_t first_bucket_bytes, bucket_bytes;
    int64_t *order; /* [params_count]: parameters in the order in which they became ready */
    size_t arrived; /* number of entries of the last pass that reduced */
    bool in_pass, reduce;
};

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static bool is_float(enum gw_dtype dtype)
{
    return dtype == GW_DTYPE_F32 || dtype == GW_DTYPE_F64 || dtype == GW_DTYPE_BF16 ||
           dtype == GW_DTYPE_F16;
}

static int param_init(struct param *param, const struct gw_ddp_param *from, size_t i,
                      struct gw_error *error)
{
    const char *name = from->name ? from->name : "";
    size_t count = 1, bytes;
    bool fits = from->dims >= 1 && from->dims <= GW_DDP_DIMS_MAX;
    for (int k = 0; fits && k < from->dims; k++)
        fits = from->shape[k] > 0 && !__builtin_mul_overflow(count, from->shape[k], &count);
    if (!is_float(from->dtype))
        return gw_error_set(error, GW_EINVAL,
                            "ddp: parameter %zu (\"%s\") has type %s; only floats are possible", i,
                            name, gw_dtype_name(from->dtype));
    if (!fits || __builtin_mul_overflow(count, gw_dtype_size(from->dtype), &bytes) ||
        bytes > PTRDIFF_MAX / 2)
        return gw_error_set(error, GW_EINVAL, "ddp: parameter %zu (\"%s\") has an invalid shape", i,
                            name);
    if (!from->data)
        return gw_error_set(error, GW_EINVAL, "ddp: parameter %zu (\"%s\") has no data", i, name);
    *param =
        (struct param){.data = from->data, .dtype = from->dtype, .count = count, .bytes = bytes};
    (void)snprintf(param->name, sizeof param->name, "%s", name);
    return 0;
}

/* Returns the open bucket of a type. If there is none, creates one. */
static struct bucket *bucket_for(struct gw_ddp *ddp, enum gw_dtype dtype, size_t param)
{
    for (size_t i = 0; i < ddp->buckets_count; i++)
        if (ddp->buckets[i].dtype == dtype && !ddp->buckets[i].closed)
            return &ddp->buckets[i];
    struct bucket *bucket = &ddp->buckets[ddp->buckets_count++];
    *bucket = (struct bucket){.dtype = dtype, .first = param};
    return bucket;
}

/* Returns true if the bucket is the first one of its type. */
static bool is_first_of_dtype(const struct gw_ddp *ddp, const struct bucket *bucket)
{
    for (const struct bucket *other = ddp->buckets; other < bucket; other++)
        if (other->dtype == bucket->dtype)
            return false;
    return true;
}

/* Distributes the parameters over buckets, in the given order. The index of a bucket follows from
 * its first parameter. Backward can fill the buckets in this order. The size of the block does not
 * depend on the order. */
static int buckets_plan(struct gw_ddp *ddp, const int64_t *order)
{
    ddp->buckets_count = ddp->block_bytes = 0;
    for (size_t k = 0; k < ddp->params_count; k++) {
        const size_t i = (size_t)order[k];
        struct param *param = &ddp->params[i];
        struct bucket *bucket = bucket_for(ddp, param->dtype, i);
        param->bucket = (size_t)(bucket - ddp->buckets);
        param->offset =
            bucket->bytes; /* offset in the bucket, until the offset of the bucket is known */
        bucket->params++;
        if (bucket->bytes > PTRDIFF_MAX / 2 - align_up(param->bytes))
            return GW_ENOMEM;
        bucket->bytes += align_up(param->bytes);
        const size_t limit =
            is_first_of_dtype(ddp, bucket) ? ddp->first_bucket_bytes : ddp->bucket_bytes;
        bucket->closed = bucket->bytes >= limit;
    }
    for (size_t i = 0; i < ddp->buckets_count; i++) {
        ddp->buckets[i].offset = ddp->block_bytes;
        if (__builtin_add_overflow(ddp->block_bytes, ddp->buckets[i].bytes, &ddp->block_bytes))
            return GW_ENOMEM;
    }
    for (size_t i = 0; i < ddp->params_count; i++)
        ddp->params[i].offset += ddp->buckets[ddp->params[i].bucket].offset;
    return 0;
}

/* Completes the order of arrival by the parameters that have not arrived, the last one first. */
static void order_complete(struct gw_ddp *ddp)
{
    for (size_t i = ddp->params_count; ddp->arrived < ddp->params_count && i-- > 0;)
        if (!ddp->params[i].ready)
            ddp->order[ddp->arrived++] = (int64_t)i;
}

static int ddp_init(struct gw_ddp *ddp, const struct gw_ddp_options *options,
                    struct gw_error *error)
{
    const size_t count = options->params_count;
    ddp->comm = ddp->reducer = options->comm;
    ddp->stream = options->stream;
    ddp->find_unused = options->find_unused;
    ddp->params_count = count;
    ddp->params = calloc(count, sizeof *ddp->params);
    ddp->buckets = calloc(count, sizeof *ddp->buckets);
    ddp->used = calloc(count, sizeof *ddp->used);
    ddp->users = calloc(count, sizeof *ddp->users);
    ddp->order = calloc(count, sizeof *ddp->order);
    ddp->first_bucket_bytes =
        options->first_bucket_bytes ? options->first_bucket_bytes : GW_DDP_FIRST_BUCKET_BYTES;
    ddp->bucket_bytes = options->bucket_bytes ? options->bucket_bytes : GW_DDP_BUCKET_BYTES;
    if (!ddp->params || !ddp->buckets || !ddp->used || !ddp->users || !ddp->order)
        return gw_error_set(error, GW_ENOMEM, "ddp: out of memory for %zu parameters", count);
    for (size_t i = 0; i < count; i++) {
        int rc = param_init(&ddp->params[i], &options->params[i], i, error);
        if (rc < 0)
            return rc;
    }
    order_complete(ddp);
    int rc = buckets_plan(ddp, ddp->order);
    return rc < 0 ? gw_error_set(error, rc, "ddp: too many parameters") : 0;
}

/* What can fail on this rank alone, before the ranks speak. */
static int ddp_prepare(struct gw_ddp *ddp, const struct gw_ddp_options *options,
                       struct gw_error *error)
{
    if (options->params_count == 0)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: params_count is 0: give at least one parameter");
    if (!options->comm)
        return gw_error_set(error, GW_EINVAL, "ddp: comm is NULL: give a communicator");
    int rc = ddp_init(ddp, options, error);
    if (rc == 0)
        rc = gw_ddp_wire_check(options, error);
    for (size_t i = 0; rc == 0 && options->stream && i < ddp->params_count; i++)
        if (!gw_comm_reaches(ddp->comm, ddp->params[i].data))
            rc = gw_error_set(error, GW_EINVAL,
                              "ddp: parameter %zu (\"%s\") is not in this rank's device memory: "
                              "with a stream all parameters are",
                              i, ddp->params[i].name);
    ddp->reduces = options->stream;
    if (rc == 0 && options->stream && !options->no_overlap)
        rc = gw_comm_stream(ddp->comm, &ddp->reduces, error);
    return rc;
}

/* Starts a thread for the reductions, with a communicator of its own, because the thread of the
 * rank may use `comm` during a pass. If the split fails, it fails on all ranks, and they do
 * without. */
static void thread_start(struct gw_ddp *ddp, const struct gw_ddp_options *options)
{
    const struct gw_comm_part all = {.key = gw_comm_rank(ddp->comm)};
    struct gw_comm *reducer;
    if (options->stream || options->no_overlap || !ddp->comm->backend->overlaps ||
        gw_comm_split(ddp->comm, &all, &reducer, NULL) < 0)
        return;
    ddp->reducer = reducer;
    ddp->thread = gw_ddp_thread_open(reducer, ddp->params_count);
}

int gw_ddp_open(const struct gw_ddp_options *given, struct gw_ddp **ddp, struct gw_error *error)
{
    struct gw_ddp_options read;
    struct gw_error own;
    void *block;
    int rc = GW_OPTIONS_READ(&read, given, gw_ddp_options, error);
    if (rc < 0)
        return rc;
    struct gw_ddp *self = calloc(1, sizeof *self);
    rc =
        self ? ddp_prepare(self, &read, &own) : gw_error_set(&own, GW_ENOMEM, "ddp: out of memory");
    if (read.comm) /* without one this rank can tell no other */
        rc = gw_ddp_agree(&read, rc, &own);
    if (rc == 0) {
        thread_start(self, &read);
        rc = gw_comm_alloc(self->reducer, self->block_bytes, &block, &own);
    }
    if (rc == 0) {
        self->block = block;
        rc = gw_ddp_wire_open(&self->wire, &read, self->reducer, self->reduces, self->block_bytes,
                              &own);
    }
    if (rc == 0) {
        rc = read.no_broadcast ? 0 : gw_ddp_broadcast(self, &own);
    }
    if (rc < 0) {
        gw_ddp_close(self);
        return gw_error_set(error, rc, "%s", own.text);
    }
    *ddp = self;
    return 0;
}

void gw_ddp_close(struct gw_ddp *ddp)
{
    if (!ddp)
        return;
    if (ddp->in_pass && ddp->reduce) /* other ranks may wait for reductions of this pass */
        gw_comm_abort(ddp->comm, GW_ECANCELLED, ddp->comm->rank);
    gw_ddp_thread_close(ddp->thread);
    if (ddp->comm) { /* in the same order on all ranks */
        gw_comm_dealloc(ddp->comm, ddp->unused);
        gw_ddp_wire_close(&ddp->wire);
        gw_comm_dealloc(ddp->reducer, ddp->block);
    }
    if (ddp->reducer != ddp->comm)
        gw_comm_close(ddp->reducer);
    free(ddp->params);
    free(ddp->buckets);
    free(ddp->used);
    free(ddp->users);
    free(ddp->order);
    free(ddp);
}

void *gw_ddp_gradient(struct gw_ddp *ddp, size_t i)
{
    assert(i < ddp->params_count);
    return ddp->block + ddp->params[i].offset;
}

void gw_ddp_zero(struct gw_ddp *ddp)
{
    assert(!ddp->in_pass);
    const struct gw_comm_span span = {ddp->block, ddp->block_bytes, ddp->stream};
    (void)gw_comm_zero(ddp->comm, &span, NULL);
}

/* Makes the next reductions wait for the work that is on the stream of backward now. */
static int reductions_follow(struct gw_ddp *ddp, struct gw_error *error)
{
    return ddp->reduces == ddp->stream
               ? 0
               : gw_comm_follow(ddp->comm, ddp->reduces, ddp->stream, error);
}

int gw_ddp_begin(struct gw_ddp *ddp, bool reduce, struct gw_error *error)
{
    if (ddp->in_pass)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: gw_ddp_begin was called before gw_ddp_finish of the pass before");
    for (size_t i = 0; i < ddp->params_count; i++)
        ddp->params[i].ready = false;
    for (size_t i = 0; i < ddp->buckets_count; i++)
        ddp->buckets[i].pending = ddp->buckets[i].params;
    ddp->launched = ddp->arrived = 0;
    ddp->in_pass = true;
    ddp->reduce = reduce;
    gw_comm_set_timeout(ddp->reducer, ddp->comm->timeout_ns);
    if (!reduce || !ddp->wire.found)
        return 0;
    int rc = reductions_follow(ddp, error);
    return rc == 0 ? gw_ddp_wire_begin(&ddp->wire, error) : rc;
}

static struct gw_ddp_wire_bucket wire_bucket(const struct gw_ddp *ddp, const struct bucket *bucket)
{
    return (struct gw_ddp_wire_bucket){.memory = ddp->block + bucket->offset,
                                       .offset = bucket->offset,
                                       .bytes = bucket->bytes,
                                       .dtype = bucket->dtype};
}

static int bucket_reduce(struct gw_ddp *ddp, const struct bucket *bucket, struct gw_error *error)
{
    const struct gw_ddp_wire_bucket wire = wire_bucket(ddp, bucket);
    struct gw_comm_args args = {.recv = wire.memory,
                                .count = bucket->bytes / gw_dtype_size(bucket->dtype),
                                .dtype = bucket->dtype,
                                .reduce = GW_REDUCE_AVG,
                                .stream = ddp->reduces};
    int rc = gw_ddp_wire_pack(&ddp->wire, &wire, &args, error);
    if (rc == 0)
        rc = ddp->thread ? gw_ddp_thread_reduce(ddp->thread, &args, error)
                         : gw_comm_all_reduce(ddp->reducer, &args, error);
    return rc == 0 && !ddp->thread ? gw_ddp_wire_unpack(&ddp->wire, &wire, error) : rc;
}

/* Starts the reductions of complete buckets, strictly in the order of their index. */
static int buckets_launch(struct gw_ddp *ddp, struct gw_error *error)
{
    int rc = 0;
    if (ddp->launched < ddp->buckets_count && ddp->buckets[ddp->launched].pending == 0)
        rc = reductions_follow(ddp, error);
    while (rc == 0 && ddp->launched < ddp->buckets_count &&
           ddp->buckets[ddp->launched].pending == 0)
        rc = bucket_reduce(ddp, &ddp->buckets[ddp->launched++], error);
    return rc;
}

int gw_ddp_ready(struct gw_ddp *ddp, size_t i, struct gw_error *error)
{
    if (!ddp->in_pass)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: gw_ddp_ready was called without gw_ddp_begin before it");
    if (i >= ddp->params_count)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: there is no parameter %zu: there are %zu parameters", i,
                            ddp->params_count);
    struct param *param = &ddp->params[i];
    if (param->ready)
        return gw_error_set(error, GW_EINVAL, "ddp: parameter %zu (\"%s\") marked ready twice", i,
                            param->name);
    param->ready = true;
    ddp->used[i] = 1;
    ddp->order[ddp->arrived++] = (int64_t)i;
    if (!ddp->reduce)
        return 0;
    ddp->buckets[param->bucket].pending--;
    return buckets_launch(ddp, error);
}

/* Finds the parameters that no rank used. *bytes receives the size of their gradients, which is the
 * same on all ranks. */
static int unused_find(struct gw_ddp *ddp, size_t *bytes, struct gw_error *error)
{
    memcpy(ddp->users, ddp->used, ddp->params_count * sizeof *ddp->users);
    int rc = gw_comm_all_reduce(
        ddp->comm,
        GW_COMM_ARGS(.recv = ddp->users, .count = ddp->params_count, .dtype = GW_DTYPE_I32), error);
    *bytes = 0;
    for (size_t i = 0; rc == 0 && i < ddp->params_count; i++)
        *bytes += ddp->users[i] ? 0 : align_up(ddp->params[i].bytes);
    return rc;
}

/* Makes room for the gradients that nobody used. All ranks call it with the same size. */
static int unused_reserve(struct gw_ddp *ddp, size_t bytes, struct gw_error *error)
{
    void *memory;
    if (bytes <= ddp->unused_bytes)
        return 0;
    gw_comm_dealloc(ddp->comm, ddp->unused);
    ddp->unused = NULL;
    ddp->unused_bytes = 0;
    int rc = gw_comm_alloc(ddp->comm, bytes, &memory, error);
    if (rc == 0) {
        ddp->unused = memory;
        ddp->unused_bytes = bytes;
    }
    return rc;
}

/* Copies the gradients that nobody used out of their buckets, or back into them. */
static int unused_copy(struct gw_ddp *ddp, bool back, struct gw_error *error)
{
    char *saved = ddp->unused;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ddp->params_count; i++) {
        const struct param *param = &ddp->params[i];
        char *gradient = ddp->block + param->offset;
        if (ddp->users[i])
            continue;
        const struct gw_comm_span to = {back ? gradient : saved, param->bytes, ddp->stream};
        rc = gw_comm_copy(ddp->comm, &to, back ? saved : gradient, error);
        saved += align_up(param->bytes);
    }
    return rc;
}

/* Waits for the thread. A failure breaks also the communicator that the program uses. */
static int thread_wait(struct gw_ddp *ddp, struct gw_error *error)
{
    gw_comm_backend_begin(ddp->comm, GW_COMM_ALL_REDUCE);
    int rc = gw_ddp_thread_wait(ddp->thread, error);
    gw_comm_backend_end(ddp->comm);
    if (rc < 0)
        gw_comm_abort(ddp->comm, rc, ddp->comm->rank);
    for (size_t i = 0; i < ddp->launched && rc == 0; i++) {
        const struct gw_ddp_wire_bucket wire = wire_bucket(ddp, &ddp->buckets[i]);
        rc = gw_ddp_wire_unpack(&ddp->wire, &wire, error);
    }
    return rc;
}

static int finish_reduce(struct gw_ddp *ddp, struct gw_error *error)
{
    size_t unused = 0;
    int rc = 0;
    if (ddp->find_unused) {
        rc = unused_find(ddp, &unused, error);
        if (rc == 0)
            rc = unused_reserve(ddp, unused, error);
        if (rc == 0 && unused > 0)
            rc = unused_copy(ddp, false, error);
        for (size_t i = 0; i < ddp->buckets_count; i++)
            ddp->buckets[i].pending = 0;
    }
    if (rc == 0)
        rc = buckets_launch(ddp, error);
    if (ddp->thread) { /* also after an error: nothing of this pass remains */
        const int done = thread_wait(ddp, rc < 0 ? NULL : error);
        rc = rc < 0 ? rc : done;
    }
    if (rc == 0)
        rc = gw_ddp_wire_share(&ddp->wire, ddp->comm, error);
    if (rc == 0 && ddp->reduces != ddp->stream) /* the stream waits, and not the host */
        rc = gw_comm_follow(ddp->comm, ddp->stream, ddp->reduces, error);
    if (rc == 0 && unused > 0)
        rc = unused_copy(ddp, true, error);
    if (rc == 0)
        memset(ddp->used, 0, ddp->params_count * sizeof *ddp->used);
    return rc;
}

int gw_ddp_finish(struct gw_ddp *ddp, struct gw_error *error)
{
    if (!ddp->in_pass)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: gw_ddp_finish was called without gw_ddp_begin before it");
    for (size_t i = 0; ddp->reduce && !ddp->find_unused && i < ddp->params_count; i++)
        if (!ddp->params[i].ready)
            return gw_error_set(error, GW_EINVAL,
                                "ddp: parameter %zu (\"%s\") was not marked ready", i,
                                ddp->params[i].name);
    int rc = ddp->reduce ? finish_reduce(ddp, error) : 0;
    ddp->in_pass = false;
    return rc;
}

int gw_ddp_check_finite(struct gw_ddp *ddp, int64_t step, struct gw_error *error)
{
    int rank;
    size_t offset;
    if (ddp->in_pass || !ddp->wire.found)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: gw_ddp_check_finite needs the option find_not_finite, and is "
                            "called after gw_ddp_finish");
    int rc = gw_ddp_wire_found(&ddp->wire, ddp->stream, &rank, &offset, error);
    if (rc < 0 || rank < 0)
        return rc;
    size_t i = 0;
    while (offset - ddp->params[i].offset >= ddp->params[i].bytes)
        i++;
    return gw_error_set(error, GW_ENOTFINITE,
                        "step %lld: rank %d: the gradient of parameter %zu (\"%s\") is infinite or "
                        "not a number",
                        (long long)step, rank, i, ddp->params[i].name);
}

int gw_ddp_broadcast(struct gw_ddp *ddp, struct gw_error *error)
{
    for (size_t i = 0; i < ddp->params_count; i++) {
        const struct param *param = &ddp->params[i];
        int rc = gw_comm_broadcast(ddp->comm,
                                   GW_COMM_ARGS(.recv = param->data, .count = param->count,
                                                .dtype = param->dtype, .stream = ddp->stream),
                                   error);
        if (rc < 0)
            return rc;
    }
    return gw_comm_wait(ddp->comm, ddp->stream, error);
}

int gw_ddp_rebuild(struct gw_ddp *ddp, struct gw_error *error)
{
    if (ddp->in_pass)
        return gw_error_set(error, GW_EINVAL, "ddp: gw_ddp_rebuild was called inside a pass");
    order_complete(ddp);
    int rc = gw_comm_broadcast(
        ddp->comm,
        GW_COMM_ARGS(.recv = ddp->order, .count = ddp->params_count, .dtype = GW_DTYPE_I64), error);
    if (rc < 0)
        return rc;
    (void)buckets_plan(ddp, ddp->order); /* the same bytes as before: they fit */
    gw_ddp_zero(ddp);
    return 0;
}

size_t gw_ddp_buckets(const struct gw_ddp *ddp)
{
    return ddp->buckets_count;
}

size_t gw_ddp_bucket_of(const struct gw_ddp *ddp, size_t i)
{
    assert(i < ddp->params_count);
    return ddp->params[i].bucket;
}
