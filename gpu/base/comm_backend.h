/* The interface that a backend of comm.h implements. comm.c checks all arguments and fills in
 * defaults before it calls a backend. So a backend gets only valid arguments: a known type, a root
 * in range, sizes without overflow, and both `send` and `recv` set. For an operation in place the
 * two are equal, or the operation defines their relation. */
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

/* One operation of a group. Its arguments are complete, like those of gw_comm_backend.run. */
struct gw_comm_item {
    enum gw_comm_verb verb;
    struct gw_comm_args args;
};

/* Memory that an operation uses after the work on `stream` (NULL: immediately). */
struct gw_comm_span {
    void *memory;
    size_t bytes;
    void *stream;
};

struct gw_comm_group; /* the operations that were called since gw_comm_group_begin */

struct gw_comm_backend {
    const char *name;
    bool has_streams; /* if false, args->stream is always NULL */
    bool overlaps;    /* its operations wait for a network: a thread of their own hides the wait */

    /* Each function implements the function of comm.h with the same name. */
    int (*run)(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
               struct gw_error *error); /* verbs from BARRIER to RECV */
    int (*wait)(struct gw_comm *comm, void *stream, struct gw_error *error);
    int (*alloc)(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);
    void (*dealloc)(struct gw_comm *comm, void *memory);
    void (*abort)(struct gw_comm *comm, int cause, int rank); /* called from any thread */
    void (*close)(struct gw_comm *comm);
    int (*split)(struct gw_comm *comm, const struct gw_comm_part *split, struct gw_comm **child,
                 struct gw_error *error);

    /* Implements gw_comm_multiply. */
    int (*multiply)(struct gw_comm *comm, int each, struct gw_comm **children,
                    struct gw_error *error);

    /* Optional. If it is NULL, the operations of a group run one after another (comm_group.c). */
    int (*group)(struct gw_comm *comm, const struct gw_comm_item *items, size_t count,
                 struct gw_error *error);

    /* Functions of backends for devices. If one is NULL, comm.c returns an error or uses the C
     * library (zero, copy). */
    int (*stream)(struct gw_comm *comm, void **stream, struct gw_error *error);
    int (*follow)(struct gw_comm *comm, void *stream, void *after, struct gw_error *error);
    int (*reg)(struct gw_comm *comm, void *memory, size_t bytes, struct gw_error *error);
    void (*unreg)(struct gw_comm *comm, void *memory);
    int (*nccl)(struct gw_comm *comm, struct ncclComm **handle, struct gw_error *error);
    int (*zero)(struct gw_comm *comm, const struct gw_comm_span *span, struct gw_error *error);
    int (*copy)(struct gw_comm *comm, const struct gw_comm_span *to, const void *from,
                struct gw_error *error);
    bool (*reaches)(struct gw_comm *comm, const void *memory);

    /* Functions that another backend uses (the NCCL backend uses a host communicator). NULL: no
     * other backend can use this one. meet starts an operation and returns when all ranks have
     * called it with the same call. It returns the worst result of all ranks (gw_comm_worst).
     * segment returns the segment that breaks the communicator for the ranks of this host. */
    int (*meet)(struct gw_comm *comm, const struct gw_segment_call *call, int32_t *worst,
                struct gw_error *error);
    struct gw_segment *(*segment)(const struct gw_comm *comm);
};

/* What other threads and processes may read about a rank. Only the rank's thread writes it. */
struct gw_comm_pulse {
    _Atomic uint64_t begun; /* number of operations begun */
    _Atomic uint32_t verb;  /* enum gw_comm_verb of the running operation, or 0 */
};

/* Every backend's own struct starts with this one. */
struct gw_comm {
    const struct gw_comm_backend *backend;
    int rank;
    int size;
    uint64_t timeout_ns;         /* never 0 */
    struct gw_comm_pulse *pulse; /* NULL: progress is not observed */
    struct gw_comm_group *group; /* NULL: no group is open */
    uint64_t agreed; /* one more value that must be the same on all ranks, in addition to the
                        arguments; 0: none */
};

/* gw_comm_worst packs a rank's result (0 or an error code) with its number, so that the minimum
 * over all ranks is the worst result. gw_comm_worst_code and gw_comm_worst_rank unpack a negative
 * value. */
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

/* gw_comm_zero sets memory of gw_comm_alloc to zero. gw_comm_copy copies from memory of
 * gw_comm_alloc or of this process. They block if the span has no stream. If one of them fails, the
 * communicator breaks. */
int gw_comm_zero(struct gw_comm *comm, const struct gw_comm_span *span, struct gw_error *error);
int gw_comm_copy(struct gw_comm *comm, const struct gw_comm_span *to, const void *from,
                 struct gw_error *error);

/* gw_comm_reaches returns true if an operation with a stream can access the memory (if the backend
 * has no streams: true). */
bool gw_comm_reaches(struct gw_comm *comm, const void *memory);

/* gw_comm_multiply creates a communicator of the host backend in which every rank of `comm` has
 * `each` (>= 1) ranks, for threads of its process: rank * each to rank * each + each - 1. It is
 * collective; `each` is the same on all ranks. `children` receives the `each` communicators of this
 * process, which the caller closes. They follow their parent and fail together, as those of
 * gw_comm_split. The first one has the pulse of the parent. Returns GW_EINVAL on all ranks if there
 * would be more than GW_COMM_HOST_RANKS_MAX ranks. */
int gw_comm_multiply(struct gw_comm *comm, int each, struct gw_comm **children,
                     struct gw_error *error);

/* gw_comm_group_add records an operation. Returns GW_ENOMEM, or GW_EINVAL if the operation is not
 * allowed in a group. */
int gw_comm_group_add(struct gw_comm_group *group, const struct gw_comm_item *item,
                      struct gw_error *error);

/* gw_comm_group_free frees the group. NULL is allowed. */
void gw_comm_group_free(struct gw_comm_group *group);

/* gw_comm_backend_init fills in the common fields, with the default timeout. */
void gw_comm_backend_init(struct gw_comm *comm, const struct gw_comm_backend *backend, int rank,
                          int size);

/* gw_comm_backend_begin and gw_comm_backend_end update the pulse at the start and at the end of an
 * operation. */
void gw_comm_backend_begin(const struct gw_comm *comm, enum gw_comm_verb verb);
void gw_comm_backend_end(const struct gw_comm *comm);

/* gw_comm_backend_verb_name returns "all_reduce" ... The string is static. */
const char *gw_comm_backend_verb_name(enum gw_comm_verb verb);

#endif
