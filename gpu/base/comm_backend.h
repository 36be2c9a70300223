/* What a backend of comm.h implements. comm.c checks arguments and fills in what they leave out, so
 * that a backend sees valid ones only: known types, a root in range, both of `send` and `recv` set
 * (in place: equal, or where the operation says), no size that overflows. */
#ifndef GW_GPU_COMM_BACKEND_H
#define GW_GPU_COMM_BACKEND_H

#include <gangway/comm.h>
#include <stdatomic.h>
#include <stdbool.h>

enum gw_comm_verb {
    GW_COMM_BARRIER = 1,
    GW_COMM_ALL_REDUCE,
    GW_COMM_BROADCAST,
    GW_COMM_ALL_GATHER,
    GW_COMM_REDUCE_SCATTER,
    GW_COMM_SEND,
    GW_COMM_RECV,
    GW_COMM_ALLOC,
    GW_COMM_WAIT,
    GW_COMM_GROUP,
    GW_COMM_SPLIT,
    GW_COMM_JOIN,
};

struct gw_segment;
struct gw_segment_call;

/* One operation of a group, its arguments as complete as run's. */
struct gw_comm_item {
    enum gw_comm_verb verb;
    struct gw_comm_args args;
};

/* Memory of gw_comm_alloc, and the stream after whose work it is touched (NULL: at once). */
struct gw_comm_span {
    void *memory;
    size_t bytes;
    void *stream;
};

struct gw_comm_group; /* what was called since gw_comm_group_begin */

struct gw_comm_backend {
    const char *name;
    bool has_streams; /* else args->stream is always NULL */

    /* Each keeps the contract of the function of comm.h with its name. */
    int (*run)(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
               struct gw_error *error); /* BARRIER to RECV */
    int (*wait)(struct gw_comm *comm, void *stream, struct gw_error *error);
    int (*alloc)(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);
    void (*dealloc)(struct gw_comm *comm, void *memory);
    void (*abort)(struct gw_comm *comm, int cause, int rank); /* from any thread */
    void (*close)(struct gw_comm *comm);
    int (*split)(struct gw_comm *comm, const struct gw_comm_split *split, struct gw_comm **child,
                 struct gw_error *error);

    /* Optional: without it, a group's operations run one after another (comm_group.c). */
    int (*group)(struct gw_comm *comm, const struct gw_comm_item *items, size_t count,
                 struct gw_error *error);

    /* Of backends for devices; the front refuses, or does it with the C library, where NULL. */
    int (*stream)(struct gw_comm *comm, void **stream, struct gw_error *error);
    int (*follow)(struct gw_comm *comm, void *stream, void *after, struct gw_error *error);
    int (*reg)(struct gw_comm *comm, void *memory, size_t bytes, struct gw_error *error);
    void (*unreg)(struct gw_comm *comm, void *memory);
    int (*nccl)(struct gw_comm *comm, struct ncclComm **handle, struct gw_error *error);
    int (*zero)(struct gw_comm *comm, const struct gw_comm_span *span, struct gw_error *error);
    int (*copy)(struct gw_comm *comm, void *to, const void *from, size_t bytes,
                struct gw_error *error);

    /* Of backends that others stand on (NULL: none can). meet starts an operation, returns when all
     * ranks have called it with the same call, and gives back the worst of their results
     * (gw_comm_worst). segment is what breaks the communicator for the ranks of this host. */
    int (*meet)(struct gw_comm *comm, const struct gw_segment_call *call, int32_t *worst,
                struct gw_error *error);
    struct gw_segment *(*segment)(const struct gw_comm *comm);
};

/* What others may see of a rank: written by its thread only. */
struct gw_comm_pulse {
    _Atomic uint64_t begun; /* operations */
    _Atomic uint32_t verb;  /* enum gw_comm_verb of the one that it is in, or 0 */
};

/* The head of every backend's own struct. */
struct gw_comm {
    const struct gw_comm_backend *backend;
    int rank;
    int size;
    uint64_t timeout_ns;         /* never 0 */
    struct gw_comm_pulse *pulse; /* NULL: nobody looks */
    struct gw_comm_group *group; /* NULL: none is open */
    uint64_t agreed;             /* what ranks must agree on beside the arguments, or 0 */
};

/* gw_comm_worst packs a rank's result (0 or a code) so that the least of all ranks' is the worst;
 * gw_comm_worst_code and gw_comm_worst_rank take apart what is below 0. */
static inline int32_t gw_comm_worst(int code, int rank)
{
    return code < 0 ? (int32_t)code * 1024 + rank : 0;
}

static inline int gw_comm_worst_rank(int32_t worst)
{
    return (int)((uint32_t)worst % 1024);
}

static inline int gw_comm_worst_code(int32_t worst)
{
    return (worst - gw_comm_worst_rank(worst)) / 1024;
}

/* gw_comm_zero sets memory of gw_comm_alloc to zero; gw_comm_copy copies, blocking, between memory
 * of it and of this process. Both break the communicator when they fail. */
int gw_comm_zero(struct gw_comm *comm, const struct gw_comm_span *span, struct gw_error *error);
int gw_comm_copy(struct gw_comm *comm, void *to, const void *from, size_t bytes,
                 struct gw_error *error);

/* gw_comm_group_add records an operation; GW_ENOMEM, GW_EINVAL (it cannot be in a group). */
int gw_comm_group_add(struct gw_comm_group *group, const struct gw_comm_item *item,
                      struct gw_error *error);

/* gw_comm_group_free frees it (NULL: nothing). */
void gw_comm_group_free(struct gw_comm_group *group);

/* gw_comm_backend_init fills in the head, with the default timeout. */
void gw_comm_backend_init(struct gw_comm *comm, const struct gw_comm_backend *backend, int rank,
                          int size);

/* gw_comm_backend_begin and gw_comm_backend_end move the pulse, around an operation. */
void gw_comm_backend_begin(const struct gw_comm *comm, enum gw_comm_verb verb);
void gw_comm_backend_end(const struct gw_comm *comm);

/* gw_comm_backend_verb_name returns "all_reduce" ...; static. */
const char *gw_comm_backend_verb_name(enum gw_comm_verb verb);

#endif
