/* Collectives across hosts.
 *
 * First, all ranks of a host compare their calls. Then the leaders compare the calls of their
 * hosts, in the head of every flow. A flow ends only after data from every host has come round. So
 * if calls differ anywhere, the communicator breaks before any rank gets a result. */
#include "gpu/ring/comm_ring.h"

#include "gpu/base/reduce.h"
#include "gpu/host/comm_split.h"
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_BYTES = 4 << 20, /* size of a window of reduce_scatter */
    BLOCK_ALIGN = 64,       /* blocks start at multiples of this many elements */
    PARTS_MAX = 2 * GW_RING_HOSTS_MAX,
};

/* A flow that is being planned. */
struct plan {
    struct gw_ring_part out[PARTS_MAX], in[PARTS_MAX];
    struct gw_segment_call mine, theirs;
    struct gw_ring_flow flow;
};

/* Data divided into one block per host. Block h is the bytes from begin[h] to begin[h + 1]. */
struct blocks {
    char *data;
    size_t begin[GW_RING_HOSTS_MAX + 1];
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* -- Flows ---------------------------------------------------------------------------------------
 */

static int leader_of(const struct gw_comm_ring *self, int place)
{
    return self->first[(place + self->hosts) % self->hosts];
}

static void plan_head(struct plan *plan, const struct gw_segment_call *call)
{
    plan->mine = *call;
    plan->out[0] = (struct gw_ring_part){.data = &plan->mine, .bytes = sizeof plan->mine};
    plan->in[0] = (struct gw_ring_part){.data = &plan->theirs, .bytes = sizeof plan->theirs};
    plan->flow = (struct gw_ring_flow){.out = plan->out,
                                       .in = plan->in,
                                       .outs = 1,
                                       .ins = 1,
                                       .head_bytes = sizeof plan->mine,
                                       .ahead_bytes = sizeof plan->mine};
}

static struct gw_ring_part block_part(const struct blocks *blocks, int hosts, int block)
{
    const int i = (block % hosts + hosts) % hosts;
    return (struct gw_ring_part){.data = blocks->data + blocks->begin[i],
                                 .bytes = blocks->begin[i + 1] - blocks->begin[i]};
}

/* Adds one round per host but one. In round s, block `first` - s is sent and the block before it is
 * received. */
static void plan_rounds(const struct gw_comm_ring *self, struct plan *plan,
                        const struct blocks *blocks, int first, bool reduces)
{
    struct gw_ring_flow *flow = &plan->flow;
    if (flow->outs == 1)
        flow->ahead_bytes += block_part(blocks, self->hosts, first).bytes;
    for (int s = 0; s < self->hosts - 1; s++) {
        plan->out[flow->outs++] = block_part(blocks, self->hosts, first - s);
        struct gw_ring_part in = block_part(blocks, self->hosts, first - s - 1);
        in.reduces = reduces;
        in.is_average = reduces && s == self->hosts - 2 && flow->reduce == GW_REDUCE_AVG;
        plan->in[flow->ins++] = in;
    }
    if (reduces && flow->reduce == GW_REDUCE_AVG)
        flow->reduce = GW_REDUCE_SUM; /* the last reduction divides */
}

static int plan_run(struct gw_comm_ring *self, struct plan *plan, struct gw_error *error)
{
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    const int before = leader_of(self, self->place - 1);
    gw_ring_watch_entered(self->watch);
    int rc = gw_ring_run(&self->ring, &plan->flow, &wait, error);
    if (rc == GW_EMISMATCH && before < self->comm.rank)
        return gw_comm_host_mismatch(
            self->local, (const int[]){before, self->comm.rank},
            (const struct gw_segment_call *const[]){&plan->theirs, &plan->mine}, error);
    if (rc == GW_EMISMATCH)
        return gw_comm_host_mismatch(
            self->local, (const int[]){self->comm.rank, before},
            (const struct gw_segment_call *const[]){&plan->mine, &plan->theirs}, error);
    return rc < 0 ? gw_comm_ring_failed(self, rc, before, error) : 0;
}

static bool is_whole(enum gw_dtype dtype)
{
    return dtype == GW_DTYPE_I32 || dtype == GW_DTYPE_I64 || dtype == GW_DTYPE_U8;
}

/* Returns the reduction that the leaders run. For an average of floats this is a sum, because the
 * local ranks have scaled their values already. */
static enum gw_reduce ring_reduce(const struct gw_comm_args *args)
{
    return args->reduce == GW_REDUCE_AVG && !is_whole(args->dtype) ? GW_REDUCE_SUM : args->reduce;
}

static void plan_reduces(const struct gw_comm_ring *self, struct plan *plan,
                         const struct gw_comm_args *args)
{
    plan->flow.dtype = args->dtype;
    plan->flow.reduce = ring_reduce(args);
    plan->flow.divisor = self->comm.size;
}

/* Divides `count` elements among the hosts. */
static void blocks_split(const struct gw_comm_ring *self, struct blocks *blocks, size_t count,
                         size_t element_bytes)
{
    const size_t hosts = (size_t)self->hosts;
    size_t each = (count + hosts - 1) / hosts;
    each = (each + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
    for (size_t i = 0; i <= hosts; i++)
        blocks->begin[i] = min_size(each * i, count) * element_bytes;
}

/* Divides the data by ranks: each host's block has bytes_each bytes per rank of that host. */
static void blocks_by_rank(const struct gw_comm_ring *self, struct blocks *blocks,
                           size_t bytes_each)
{
    for (int i = 0; i <= self->hosts; i++)
        blocks->begin[i] = (size_t)self->first[i] * bytes_each;
}

int gw_ring_backend_sync(struct gw_comm_ring *self, const struct gw_segment_call *call,
                         struct gw_error *error)
{
    struct plan plan;
    uint8_t byte = 0;
    struct blocks blocks = {.data = (char *)&byte};
    blocks_split(self, &blocks, 1, 1);
    plan_head(&plan, call);
    plan_reduces(self, &plan, &(const struct gw_comm_args){.dtype = GW_DTYPE_U8});
    plan_rounds(self, &plan, &blocks, self->place, true);
    plan_rounds(self, &plan, &blocks, self->place + 1, false);
    return plan_run(self, &plan, error);
}

/* -- Among the ranks of this host ----------------------------------------------------------------
 */

/* Compares the call among the ranks of this host. */
static int local_meet(struct gw_comm_ring *self, const struct gw_segment_call *call,
                      struct gw_error *error)
{
    struct gw_comm_host *local = self->local;
    local->comm.timeout_ns = self->comm.timeout_ns;
    local->deadline_max_ns = self->deadline_ns;
    int rc = gw_comm_host_begin(local, self->verb, error);
    if (rc == 0 && local->comm.size > 1)
        rc = gw_comm_host_step(local, call, error);
    return rc < 0 || local->comm.size == 1 ? rc : gw_comm_host_agree(local, error);
}

/* Reduces `send` of all ranks of this host into `recv` of each of them. */
static int local_reduce(struct gw_comm_ring *self, const struct gw_comm_args *args,
                        struct gw_error *error)
{
    struct gw_comm_args part = *args;
    if (is_whole(args->dtype) && args->reduce == GW_REDUCE_AVG)
        part.reduce = GW_REDUCE_SUM; /* the sum of all ranks is divided once, at the end */
    if (self->local->comm.size > 1)
        return gw_comm_ring_local(self, GW_COMM_ALL_REDUCE, &part, error);
    if (part.send == part.recv && part.reduce != GW_REDUCE_AVG)
        return 0;
    gw_reduce_run(&(const struct gw_reduction){
        .dtype = part.dtype,
        .reduce = part.reduce,
        .divisor = self->comm.size,
        .sources = 1,
        .source = &part.send,
        .targets = 1,
        .target = &part.recv,
        .count = part.count,
    });
    return 0;
}

/* Copies the leader's data to all ranks of the host. */
static int local_spread(struct gw_comm_ring *self, void *data, size_t bytes, struct gw_error *error)
{
    if (self->local->comm.size == 1)
        return 0;
    return gw_comm_ring_local(
        self, GW_COMM_BROADCAST,
        GW_COMM_ARGS(.recv = data, .count = bytes, .dtype = GW_DTYPE_U8, .root = 0), error);
}

/* -- The collectives -----------------------------------------------------------------------------
 */

struct op {
    struct gw_comm_ring *self;
    const struct gw_comm_args *args;
    struct gw_segment_call call;
    size_t element_bytes;
    struct gw_error *error;
};

static int leaders_sync(struct op *op)
{
    return gw_comm_ring_is_leader(op->self) ? gw_ring_backend_sync(op->self, &op->call, op->error)
                                            : 0;
}

/* Returns when all ranks have entered the barrier. */
static int barrier(struct op *op)
{
    uint8_t byte = 0;
    int rc = leaders_sync(op);
    return rc < 0 ? rc : local_spread(op->self, &byte, 1, op->error);
}

static int all_reduce(struct op *op)
{
    struct gw_comm_ring *self = op->self;
    const struct gw_comm_args *args = op->args;
    int rc = local_reduce(self, args, op->error);
    if (rc < 0)
        return rc;
    if (gw_comm_ring_is_leader(self)) {
        struct plan plan;
        struct blocks blocks = {.data = args->recv};
        blocks_split(self, &blocks, args->count, op->element_bytes);
        plan_head(&plan, &op->call);
        plan_reduces(self, &plan, args);
        plan_rounds(self, &plan, &blocks, self->place, true);
        plan_rounds(self, &plan, &blocks, self->place + 1, false);
        rc = plan_run(self, &plan, op->error);
    }
    return rc < 0 ? rc : local_spread(self, args->recv, args->count * op->element_bytes, op->error);
}

/* Returns the number of the host that a rank is on. */
static int place_of(const struct gw_comm_ring *self, int rank)
{
    int place = 0;
    while (self->first[place + 1] <= rank)
        place++;
    return place;
}

/* Sends data from the root's host through the ring: each host passes it to the next one, until the
 * host before the root. */
static int chain(struct op *op, int from)
{
    struct gw_comm_ring *self = op->self;
    struct gw_ring_part whole = {.data = op->args->recv,
                                 .bytes = op->args->count * op->element_bytes};
    struct plan plan;
    plan.flow = (struct gw_ring_flow){.out = &whole, .in = &whole, .dtype = op->args->dtype};
    plan.flow.ins = self->place != from;
    plan.flow.outs = (self->place + 1) % self->hosts != from;
    plan.flow.ahead_bytes = plan.flow.ins ? 0 : whole.bytes;
    return plan_run(self, &plan, op->error);
}

static int broadcast(struct op *op)
{
    struct gw_comm_ring *self = op->self;
    const struct gw_comm_args *args = op->args;
    const size_t bytes = args->count * op->element_bytes;
    const int from = place_of(self, args->root);
    const bool here = from == self->place;
    int rc = 0;
    if (here && self->comm.rank == args->root && args->send != args->recv)
        memmove(args->recv, args->send, bytes);
    if (here && self->local->comm.size > 1)
        rc = gw_comm_ring_local(self, GW_COMM_BROADCAST,
                                GW_COMM_ARGS(.recv = args->recv, .count = bytes,
                                             .dtype = GW_DTYPE_U8,
                                             .root = args->root - self->first_rank),
                                op->error);
    if (rc == 0)
        rc = leaders_sync(op);
    if (rc == 0 && gw_comm_ring_is_leader(self))
        rc = chain(op, from);
    return rc < 0 ? rc : local_spread(self, args->recv, here ? 0 : bytes, op->error);
}

static int all_gather(struct op *op)
{
    struct gw_comm_ring *self = op->self;
    const struct gw_comm_args *args = op->args;
    const size_t bytes = args->count * op->element_bytes;
    char *here = (char *)args->recv + (size_t)self->first_rank * bytes;
    char *own = (char *)args->recv + (size_t)self->comm.rank * bytes;
    int rc = 0;
    if (self->local->comm.size > 1)
        rc = gw_comm_ring_local(self, GW_COMM_ALL_GATHER,
                                GW_COMM_ARGS(.send = args->send, .recv = here, .count = args->count,
                                             .dtype = args->dtype),
                                op->error);
    else if (args->send != own)
        memmove(own, args->send, bytes);
    if (rc == 0 && gw_comm_ring_is_leader(self)) {
        struct plan plan;
        struct blocks blocks = {.data = args->recv};
        blocks_by_rank(self, &blocks, bytes);
        plan_head(&plan, &op->call);
        plan.flow.dtype = args->dtype;
        plan_rounds(self, &plan, &blocks, self->place, false);
        rc = plan_run(self, &plan, op->error);
    }
    return rc < 0 ? rc : local_spread(self, args->recv, bytes * (size_t)self->comm.size, op->error);
}

static int scratch_reserve(struct gw_comm_ring *self, size_t bytes, struct gw_error *error)
{
    if (bytes <= self->scratch_bytes)
        return 0;
    char *more = malloc(bytes);
    if (!more) {
        gw_comm_abort(&self->comm, GW_ENOMEM, self->comm.rank);
        return gw_segment_broken(self->local->segment, error);
    }
    free(self->scratch);
    self->scratch = more;
    self->scratch_bytes = bytes;
    return 0;
}

/* Reduces elements `at` to `at + part` of every rank's result. */
static int reduce_scatter_window(struct op *op, size_t at, size_t part)
{
    struct gw_comm_ring *self = op->self;
    const struct gw_comm_args *args = op->args;
    const size_t bytes = part * op->element_bytes, ranks = (size_t)self->comm.size;
    for (size_t i = 0; i < ranks; i++)
        memcpy(self->scratch + i * bytes,
               (const char *)args->send + (i * args->count + at) * op->element_bytes, bytes);
    const struct gw_comm_args local = {.send = self->scratch,
                                       .recv = self->scratch,
                                       .count = part * ranks,
                                       .dtype = args->dtype,
                                       .reduce = args->reduce};
    int rc = local_reduce(self, &local, op->error);
    if (rc == 0 && gw_comm_ring_is_leader(self)) {
        struct plan plan;
        struct blocks blocks = {.data = self->scratch};
        blocks_by_rank(self, &blocks, bytes);
        plan_head(&plan, &op->call);
        plan_reduces(self, &plan, args);
        plan_rounds(self, &plan, &blocks, self->place - 1, true);
        rc = plan_run(self, &plan, op->error);
    }
    if (rc == 0)
        rc = local_spread(self, self->scratch + (size_t)self->first_rank * bytes,
                          (size_t)self->local->comm.size * bytes, op->error);
    if (rc == 0)
        memcpy((char *)args->recv + at * op->element_bytes,
               self->scratch + (size_t)self->comm.rank * bytes, bytes);
    return rc;
}

static int reduce_scatter(struct op *op)
{
    const size_t count = op->args->count, share = op->element_bytes * (size_t)op->self->comm.size;
    const size_t window = min_size(count, WINDOW_BYTES / share + 1);
    int rc = scratch_reserve(op->self, window * share, op->error);
    for (size_t at = 0; at < count && rc == 0; at += window)
        rc = reduce_scatter_window(op, at, min_size(window, count - at));
    return rc;
}

/* -- The backend ---------------------------------------------------------------------------------
 */

static int ring_begin(struct gw_comm_ring *self, enum gw_comm_verb verb, struct gw_error *error)
{
    self->verb = verb;
    self->deadline_ns = gw_segment_now_ns() + self->comm.timeout_ns;
    if (self->deadline_ns < self->comm.timeout_ns)
        self->deadline_ns = INT64_MAX;
    return gw_segment_broken(self->local->segment, error);
}

static int ring_run(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
                    struct gw_error *error)
{
    static int (*const collectives[])(struct op *) = {
        [GW_COMM_BARRIER] = barrier,
        [GW_COMM_ALL_REDUCE] = all_reduce,
        [GW_COMM_BROADCAST] = broadcast,
        [GW_COMM_ALL_GATHER] = all_gather,
        [GW_COMM_REDUCE_SCATTER] = reduce_scatter,
    };
    struct gw_comm_ring *self = (struct gw_comm_ring *)comm;
    int rc = ring_begin(self, verb, error);
    if (rc < 0)
        return rc;
    if (verb == GW_COMM_SEND)
        return gw_comm_ring_pair_send(self, args, error);
    if (verb == GW_COMM_RECV)
        return gw_comm_ring_pair_recv(self, args, error);
    struct op op = {
        .self = self,
        .args = args,
        .element_bytes = gw_dtype_size(args->dtype),
        .error = error,
        .call = {.verb = (uint32_t)verb,
                 .dtype = (uint32_t)args->dtype,
                 .reduce = (uint32_t)args->reduce,
                 .root = args->root,
                 .count = args->count,
                 .agreed = comm->agreed},
    };
    rc = local_meet(self, &op.call, error);
    if (rc < 0)
        return rc;
    return args->count == 0 ? barrier(&op) : collectives[verb](&op);
}

static int ring_wait(struct gw_comm *comm, void *stream, struct gw_error *error)
{
    if (stream)
        return gw_error_set(error, GW_EINVAL, "wait: the host backend has no streams");
    return gw_segment_broken(((struct gw_comm_ring *)comm)->local->segment, error);
}

static void history_add(struct gw_comm_ring *self, uint64_t event)
{
    self->history = (self->history ^ event) * 0x100000001b3 + 1;
}

/* Computes the worst result of all ranks on all ranks. `worst` is the worst result of this host and
 * receives the total. */
static int worst_share(struct gw_comm_ring *self, const struct gw_segment_call *call,
                       int32_t *worst, struct gw_error *error)
{
    int rc = 0;
    if (gw_comm_ring_is_leader(self)) {
        struct plan plan;
        struct blocks blocks = {.data = (char *)worst};
        blocks_split(self, &blocks, 1, sizeof *worst);
        plan_head(&plan, call);
        plan_reduces(self, &plan, GW_COMM_ARGS(.dtype = GW_DTYPE_I32, .reduce = GW_REDUCE_MIN));
        plan_rounds(self, &plan, &blocks, self->place, true);
        plan_rounds(self, &plan, &blocks, self->place + 1, false);
        rc = plan_run(self, &plan, error);
    }
    return rc < 0 ? rc : local_spread(self, worst, sizeof *worst, error);
}

/* Exchanges the status of an allocation. Returns 0, or GW_ENOMEM on all ranks if any rank failed.
 */
static int alloc_agree(struct gw_comm_ring *self, const struct gw_segment_call *call, int status,
                       struct gw_error *error)
{
    int32_t worst = gw_comm_worst(status, self->comm.rank);
    int rc = worst_share(self, call, &worst, error);
    if (rc == 0 && worst < 0)
        rc = gw_error_set(error, GW_ENOMEM, "rank %d has no %llu bytes of shared memory",
                          gw_comm_worst_rank(worst), (unsigned long long)call->count);
    return rc;
}

static int ring_meet(struct gw_comm *comm, const struct gw_segment_call *call, int32_t *worst,
                     struct gw_error *error)
{
    struct gw_comm_ring *self = (struct gw_comm_ring *)comm;
    int rc = ring_begin(self, (enum gw_comm_verb)call->verb, error);
    if (rc == 0)
        rc = local_meet(self, call, error);
    *worst = gw_comm_worst((int)call->status, comm->rank);
    for (int i = 0; rc == 0 && self->local->comm.size > 1 && i < self->local->comm.size; i++) {
        const struct gw_segment_call *theirs = gw_comm_host_call(self->local, i);
        const int32_t their = gw_comm_worst((int)theirs->status, self->first_rank + i);
        *worst = their < *worst ? their : *worst;
    }
    /* The hosts compare all fields of the call except the status, which may differ. */
    struct gw_segment_call agreed = *call;
    agreed.status = 0;
    return rc < 0 ? rc : worst_share(self, &agreed, worst, error);
}

static int ring_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error)
{
    struct gw_comm_ring *self = (struct gw_comm_ring *)comm;
    const struct gw_segment_call call = {
        .verb = GW_COMM_ALLOC, .count = bytes, .agreed = self->history};
    void *mine = NULL;
    int rc = ring_begin(self, GW_COMM_ALLOC, error);
    if (rc == 0)
        rc = local_meet(self, &call, error);
    if (rc < 0)
        return rc;
    int status = gw_comm_host_memory_alloc(&self->local->comm, bytes, &mine, error);
    if (status < 0 && status != GW_ENOMEM)
        return status;
    rc = alloc_agree(self, &call, status, error);
    if (rc < 0) {
        if (status == 0)
            gw_comm_host_memory_dealloc(&self->local->comm, mine);
        return rc;
    }
    history_add(self, bytes);
    *memory = mine;
    return 0;
}

static void ring_dealloc(struct gw_comm *comm, void *memory)
{
    struct gw_comm_ring *self = (struct gw_comm_ring *)comm;
    history_add(self, ~(uint64_t)0);
    gw_comm_host_memory_dealloc(&self->local->comm, memory);
}

static void ring_abort(struct gw_comm *comm, int cause, int rank)
{
    gw_comm_abort(&((struct gw_comm_ring *)comm)->local->comm, cause, rank);
}

static void ring_close(struct gw_comm *comm)
{
    gw_comm_ring_free((struct gw_comm_ring *)comm);
}

static struct gw_comm_split_site ring_site(struct gw_comm *comm)
{
    struct gw_comm_ring *self = (struct gw_comm_ring *)comm;
    return (struct gw_comm_split_site){
        .comm = comm,
        .segment = self->local->segment,
        .hosts = self->hosts,
        .first = self->first,
        .attempt = self->trust.attempt,
        .key = self->trust.keyed ? self->trust.key.secret : NULL,
        .open_host = gw_comm_open_host,
        .open_hosts = self->open_hosts,
        .endpoint = self->places[comm->rank].endpoint,
        .splits = &self->splits,
    };
}

static int ring_split(struct gw_comm *comm, const struct gw_comm_part *split,
                      struct gw_comm **child, struct gw_error *error)
{
    const struct gw_comm_split_site site = ring_site(comm);
    return gw_comm_split_host(&site, split, child, error);
}

static int ring_multiply(struct gw_comm *comm, int each, struct gw_comm **children,
                         struct gw_error *error)
{
    const struct gw_comm_split_site site = ring_site(comm);
    return gw_comm_split_multiply(&site, each, children, error);
}

static struct gw_segment *ring_segment(const struct gw_comm *comm)
{
    return ((const struct gw_comm_ring *)comm)->local->segment;
}

const struct gw_comm_backend gw_comm_ring_backend = {
    .name = "host",
    .has_streams = false,
    .overlaps = true,
    .split = ring_split,
    .multiply = ring_multiply,
    .meet = ring_meet,
    .segment = ring_segment,
    .run = ring_run,
    .wait = ring_wait,
    .alloc = ring_alloc,
    .dealloc = ring_dealloc,
    .abort = ring_abort,
    .close = ring_close,
};
