/* Communicators: collective operations among the ranks of a gang.
 *
 * A communicator connects `size` ranks, numbered from 0. Every rank holds its own `struct gw_comm`
 * and calls the same collectives in the same order. There are two backends: "host" (shared memory
 * on one machine, TCP between machines) and "nccl" (in libgangway-cuda.so). The following rules
 * hold for every operation and every backend:
 *
 * - Blocking: if `.stream` is NULL, an operation returns when the result is in this rank's buffers
 * and the caller may change its buffers. If `.stream` is set, the operation is enqueued on that
 * stream and gw_comm_wait waits for it. Only the NCCL backend has streams. The host backend returns
 * GW_EINVAL.
 *
 * - Deadline: each operation ends within the communicator's timeout, counted from its call, also an
 * operation on a stream for which nobody waits (on NCCL a thread of the process watches over it).
 *
 * - Streams: the ranks do not compare operations on a stream before they launch them, because a
 * comparison would hold up the device. If the ranks differ, the results are undefined or the wait
 * for the stream ends at its deadline. Set GANGWAY_COMM_CHECK=1 (for rank 0, before the
 * communicator is opened) to compare these operations too.
 *
 * - Failure: GW_EINVAL means that this rank made a mistake that was found before anything was sent;
 * the communicator stays usable. Every other error breaks the communicator on all ranks
 * permanently. All pending and all later operations on all ranks then fail with the code and the
 * text of the first cause: GW_ETIMEDOUT (a deadline passed on some rank), GW_EMISMATCH (ranks
 * called different operations or disagreed on count, type, reduction or root; the text names both
 * sides), GW_EABORTED (gw_comm_abort was called, or a rank closed its communicator), GW_EDEVICE
 * (the GPU of a rank failed, for example because a kernel of the program trapped; this process
 * cannot use the GPU any more). A broken communicator can only be closed. The output buffers of a
 * failed operation have unspecified contents.
 *
 * - Order of a reduction: always rank 0, 1, 2 ... The same input gives the same bits on every rank
 * and in every run. This holds for the host backend on one host. Across hosts and for NCCL see
 * gw_comm_hosts_options and gw_comm_nccl_options below.
 *
 * - Threads: a communicator is used by one thread at a time. gw_comm_abort, gw_comm_rank and
 * gw_comm_size may be called from any thread until gw_comm_close is called.
 *
 * A count is a number of elements, never of bytes. A count of 0 is allowed; the operation then only
 * synchronises the ranks. Buffers are aligned to their element type. `send` and `recv` must not
 * overlap. For an operation in place, leave one of them NULL. */
#ifndef GANGWAY_COMM_H
#define GANGWAY_COMM_H

#include <gangway/dtype.h>
#include <gangway/error.h>
#include <gangway/options.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_comm;
struct ncclComm; /* NCCL's communicator; ncclComm_t is a pointer to it */

/* The function that combines the elements of all ranks into one. 16-bit types are computed in float
 * and rounded once. Integers wrap around on overflow. If any rank has a NaN, a sum, product or
 * average is NaN. A minimum or maximum of numbers and NaNs may give either, but gives the same on
 * all ranks. */
enum gw_reduce {
    GW_REDUCE_SUM = 0,
    GW_REDUCE_PROD = 1,
    GW_REDUCE_MIN = 2,
    GW_REDUCE_MAX = 3,
    GW_REDUCE_AVG = 4, /* the average. Floats: each element is multiplied by 1/size, then the
                          products are summed. Integers: the elements are summed, then the sum is
                          divided and rounded towards zero (as ncclAvg does) */
};

/* The arguments of one operation. The comment at each function says which fields the function
 * reads. This struct and gw_comm_part have no struct_size: they never get another field. */
struct gw_comm_args {
    const void *send;
    void *recv;
    size_t count;          /* number of elements; its exact meaning is at each function */
    enum gw_dtype dtype;   /* element type of send and recv */
    enum gw_reduce reduce; /* read by all_reduce and reduce_scatter */
    int root;              /* for broadcast, the rank that sends; for send and recv, the other rank
                              of the pair */
    void *stream; /* the stream on which the operation is enqueued (for NCCL a cudaStream_t); NULL:
                     the call blocks */
};

/* The choice of one rank in gw_comm_split: the part of the communicator that this rank joins. */
struct gw_comm_part {
    int colour; /* ranks of the same colour form one part; negative: this rank joins no part */
    int key;    /* ranks of a part are numbered by key; equal keys keep the order of the parent */
};

/* GW_COMM_ARGS builds the arguments inside the call: GW_COMM_ARGS(.recv = x, .count = n, ...). */
#ifdef __cplusplus
#define GW_COMM_ARGS(...) gw_pointer_to(GW_BRACES(gw_comm_args, __VA_ARGS__))
#else
#define GW_COMM_ARGS(...) (&(const struct gw_comm_args){__VA_ARGS__})
#endif

/* gw_comm_rank returns this process's rank, 0 to size - 1. */
GW_API int gw_comm_rank(const struct gw_comm *comm);

/* gw_comm_size returns the number of ranks, at least 1. */
GW_API int gw_comm_size(const struct gw_comm *comm);

/* gw_comm_backend returns the name of the backend, "host" or "nccl". The string is static. */
GW_API const char *gw_comm_backend(const struct gw_comm *comm);

/* gw_comm_set_timeout sets the timeout of operations that are called later. 0 sets the default,
 * GW_COMM_TIMEOUT_DEFAULT_NS. Set the same timeout on all ranks: the shortest one takes effect. */
GW_API void gw_comm_set_timeout(struct gw_comm *comm, uint64_t timeout_ns);

#define GW_COMM_TIMEOUT_DEFAULT_NS (600ULL * 1000 * 1000 * 1000)

/* gw_comm_all_reduce reduces send[count] of all ranks and writes the result to recv[count] of every
 * rank. For an operation in place, leave send NULL or set it equal to recv. */
GW_API int gw_comm_all_reduce(struct gw_comm *comm, const struct gw_comm_args *args,
                              struct gw_error *error);

/* gw_comm_broadcast copies send[count] of rank `root` to recv[count] of every rank. Ranks other
 * than root may leave send NULL. For an operation in place on the root, leave send NULL or set it
 * equal to recv. */
GW_API int gw_comm_broadcast(struct gw_comm *comm, const struct gw_comm_args *args,
                             struct gw_error *error);

/* gw_comm_all_gather copies send[count] of rank r to recv[r * count] of every rank. recv has size *
 * count elements. For an operation in place, leave send NULL and put this rank's elements at
 * recv[rank * count] before the call. */
GW_API int gw_comm_all_gather(struct gw_comm *comm, const struct gw_comm_args *args,
                              struct gw_error *error);

/* gw_comm_reduce_scatter reduces send[size * count] of all ranks. Rank r gets the elements r *
 * count to (r + 1) * count - 1 of the result in recv[count]. For an operation in place, leave recv
 * NULL: the result is written to send[rank * count], although the type of send is const. */
GW_API int gw_comm_reduce_scatter(struct gw_comm *comm, const struct gw_comm_args *args,
                                  struct gw_error *error);

/* gw_comm_send sends send[count] to rank `root`, which must call gw_comm_recv with the same count
 * and type. For a small message, the call may return before the receiver has called gw_comm_recv,
 * because such messages are buffered. A larger message blocks until then. Therefore two ranks that
 * both send first and receive second can block each other until the deadline. */
GW_API int gw_comm_send(struct gw_comm *comm, const struct gw_comm_args *args,
                        struct gw_error *error);

/* gw_comm_recv receives recv[count] from rank `root`. Messages between two ranks arrive in the
 * order in which they were sent. */
GW_API int gw_comm_recv(struct gw_comm *comm, const struct gw_comm_args *args,
                        struct gw_error *error);

/* gw_comm_barrier returns when every rank has called it. */
GW_API int gw_comm_barrier(struct gw_comm *comm, struct gw_error *error);

/* gw_comm_group_begin and gw_comm_group_end combine operations into a group. Between the two calls
 * an operation is only recorded: it returns 0, or GW_EINVAL if its arguments are wrong, and then it
 * is not part of the group. gw_comm_group_end runs all recorded operations.
 *
 * Messages of a group may be sent and received in any order, if both ends of each message are in a
 * group. Collectives must be in the same order on all ranks, and they run before the messages. The
 * host backend combines short reductions of the same type and kind that follow each other; NCCL
 * decides itself. The buffers are in use until gw_comm_group_end returns. Two operations of a group
 * must not write to the same buffer, and no operation may read what another one of the group
 * writes. Each operation has its own deadline.
 *
 * GW_EINVAL: a barrier, wait, alloc, split or begin inside a group; an end without a begin; on
 * NCCL, a buffer that is not in device memory (nothing was sent). gw_comm_close drops a group that
 * was not ended. */
GW_API int gw_comm_group_begin(struct gw_comm *comm, struct gw_error *error);
GW_API int gw_comm_group_end(struct gw_comm *comm, struct gw_error *error);

/* gw_comm_split divides the ranks of a communicator into parts and creates a smaller communicator
 * (a child) for each part. It is collective. `child` receives the communicator of this rank's part,
 * or NULL if the rank's colour is negative. The caller closes it with gw_comm_close. The child has
 * the backend and the timeout of its parent.
 *
 * If the parent breaks, the child breaks too, with the same code and text (rank numbers in the text
 * are those of the parent). An operation that waits on the child notices this within a few
 * hundredths of a second. If the child breaks, the parent stays usable. Parent and child may be
 * closed in any order.
 *
 * If the split fails on any rank, it fails on all ranks, creates no communicator, and leaves the
 * parent as it is. Errors: GW_ENOTSUP (across hosts: the keys mix ranks of several hosts in one
 * part), GW_ENOMEM, GW_EIO (the system does not allow a process to open the descriptors of another
 * process of the same user). */
GW_API int gw_comm_split(struct gw_comm *comm, const struct gw_comm_part *part,
                         struct gw_comm **child, struct gw_error *error);

/* gw_comm_stream returns the communicator's own stream, borrowed until gw_comm_close. Operations on
 * this stream run in parallel with the work on the caller's streams. Returns GW_ENOTSUP on the host
 * backend, whose operations run in the calling thread. */
GW_API int gw_comm_stream(struct gw_comm *comm, void **stream, struct gw_error *error);

/* gw_comm_follow makes all work that is enqueued on `stream` from now on wait until the work that
 * is on `after` now has finished. The device does the waiting: the call does not block. It is not
 * collective. Returns GW_ENOTSUP on the host backend, GW_EINVAL if `stream` or `after` is not a
 * stream of this rank's device. */
GW_API int gw_comm_follow(struct gw_comm *comm, void *stream, void *after, struct gw_error *error);

/* gw_comm_wait returns when all operations that this rank enqueued on the stream have finished. On
 * the host backend it returns at once, because operations there have finished when they return. */
GW_API int gw_comm_wait(struct gw_comm *comm, void *stream, struct gw_error *error);

/* gw_comm_alloc allocates a buffer that the operations of all ranks access without a copy. It is
 * collective: every rank calls it with the same number of bytes (> 0) and gets its own buffer,
 * zeroed and aligned to a page. The buffer is freed by gw_comm_dealloc or gw_comm_close. If any
 * rank has not enough memory, the call returns GW_ENOMEM on all ranks and the communicator stays
 * usable. */
GW_API int gw_comm_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);

/* gw_comm_dealloc frees a buffer that gw_comm_alloc returned. NULL is allowed. It does not wait for
 * other ranks, but all ranks must call gw_comm_alloc and gw_comm_dealloc in the same order. If they
 * do not, the next gw_comm_alloc returns GW_EMISMATCH. */
GW_API void gw_comm_dealloc(struct gw_comm *comm, void *memory);

/* gw_comm_register announces memory that operations will use often, so that the backend prepares it
 * once. Operations also work on memory that is not registered. The memory is device memory of this
 * rank that gw_comm_alloc did not return. The call is not collective, but it helps only if all
 * ranks register their memory and use the same offsets in it. The caller must call
 * gw_comm_unregister before it frees the memory. gw_comm_close unregisters all remaining memory.
 * Returns GW_ENOTSUP on the host backend, GW_EINVAL if the memory is not on the device or is
 * registered already. */
GW_API int gw_comm_register(struct gw_comm *comm, void *memory, size_t bytes,
                            struct gw_error *error);

/* gw_comm_unregister undoes gw_comm_register. NULL is allowed. */
GW_API void gw_comm_unregister(struct gw_comm *comm, void *memory);

/* gw_comm_nccl returns the NCCL communicator, for NCCL functions that this header does not cover.
 * It is borrowed until gw_comm_close. It is also destroyed when the communicator breaks, by
 * the thread that watches over it. It is non-blocking: NCCL calls may return ncclInProgress. All
 * ranks must launch the same NCCL calls in the same order, and not while an operation of comm runs.
 * Returns GW_ENOTSUP on the host backend. If the communicator is broken, returns the cause. */
GW_API int gw_comm_nccl(struct gw_comm *comm, struct ncclComm **handle, struct gw_error *error);

/* gw_comm_abort breaks the communicator on all ranks. The error texts of all ranks then contain
 * `cause` (a negative GW_E... code) and `rank` (the rank that caused it, or -1 if no rank did).
 * Only the first abort counts. It may be called from any thread, also while another thread is
 * inside an operation. */
GW_API void gw_comm_abort(struct gw_comm *comm, int cause, int rank);

/* gw_comm_close frees the communicator and its memory. NULL is allowed. It is not collective. An
 * operation of another rank that needs this rank fails with GW_EABORTED. */
GW_API void gw_comm_close(struct gw_comm *comm);

/* The host backend on one host. Ranks are processes (or threads) of one machine that share a
 * segment, which is an anonymous file (memfd). The launcher creates the segment and passes its
 * descriptor to each rank. */

enum { GW_COMM_HOST_RANKS_MAX = 128 };

/* gw_comm_segment_create makes a segment for `ranks` ranks (1 to GW_COMM_HOST_RANKS_MAX) and
 * returns its descriptor (close-on-exec), which the caller closes. A segment can be used for only
 * one communicator. It uses about 1 MiB of memory per rank, allocated at first use, and more with
 * gw_comm_alloc. Errors: GW_EINVAL, GW_EIO. Any thread may call it. */
GW_API int gw_comm_segment_create(int ranks, int *fd, struct gw_error *error);

/* gw_comm_segment_abort does the same as gw_comm_abort for a process that is not a rank, for
 * example a launcher that sees a rank die. Any process that holds the descriptor may call it at any
 * time. The descriptor is borrowed. gw_comm_segment_abort, gw_comm_segment_aborted and
 * gw_comm_segment_progress return GW_EINVAL or GW_ECORRUPT if fd is not a segment, GW_EVERSION if
 * the segment has another version, GW_ENOMEM if out of memory. */
GW_API int gw_comm_segment_abort(int fd, int cause, int rank, struct gw_error *error);

/* gw_comm_segment_aborted returns 1 and the first cause if the communicator is broken, 0 if not. */
GW_API int gw_comm_segment_aborted(int fd, int *cause, int *rank, struct gw_error *error);

/* The state of a rank in a communicator. A launcher uses this to find a rank that hangs. */
enum gw_comm_presence {
    GW_COMM_ABSENT = 0, /* the rank has not joined yet */
    GW_COMM_OPEN = 1,
    GW_COMM_CLOSED = 2,
};

struct gw_comm_progress {
    enum gw_comm_presence presence;
    uint64_t begun; /* number of operations of this header that the rank has begun, counted over
                       all backends */
    const char *operation; /* name of the operation that the rank executes now, for example
                              "all_reduce" (a static string); NULL: the rank executes none */
};

/* gw_comm_segment_progress reads the progress of a rank (a rank number in the segment). Any process
 * that holds the descriptor may call it at any time. The descriptor is borrowed. If the rank is
 * running, the values are from about the same moment, but not exactly. Returns GW_EINVAL if the
 * segment has no such rank. */
GW_API int gw_comm_segment_progress(int fd, int rank, struct gw_comm_progress *progress,
                                    struct gw_error *error);

struct gw_comm_host_options {
    size_t struct_size;  /* see options.h */
    int fd;              /* the segment; borrowed: the communicator keeps a duplicate */
    int rank;            /* number of this rank, 0 to ranks - 1; if this rank has joined the
                            segment before, the call returns GW_EEXIST */
    int ranks;           /* number of ranks, as passed to gw_comm_segment_create; another number
                            returns GW_EMISMATCH */
    uint64_t timeout_ns; /* 0: GW_COMM_TIMEOUT_DEFAULT_NS */
};
#define GW_COMM_HOST_OPTIONS(...) GW_POINTER(gw_comm_host_options, __VA_ARGS__)

/* gw_comm_open_host joins the segment as one rank and returns a communicator, which the caller
 * closes with gw_comm_close. It does not wait for the other ranks. Returns GW_ECORRUPT if the
 * descriptor is not a segment, GW_EVERSION if the segment has another version. */
GW_API int gw_comm_open_host(const struct gw_comm_host_options *options, struct gw_comm **comm,
                             struct gw_error *error);

/* The host backend across hosts. The ranks of each host share a segment that only they use. The
 * first rank of every host is connected by TCP to the first rank of the next host, so the hosts
 * form a ring. gw_comm_backend returns "host" here too. Differences from a single host:
 *
 * - A reduction combines the ranks of each host first and then the hosts. The order of the hosts
 * differs for each part of the buffer. So the bits of a result depend on the number of ranks on
 * each host, but they are the same on every rank and in every run. 16-bit types are rounded once
 * per host.
 *
 * - The cause of a failure reaches the other hosts within a few hundredths of a second. A host that
 * stops without closing its connections is noticed after about ten seconds. */

struct gw_comm_hosts_options {
    size_t struct_size; /* see options.h */
    int fd;             /* segment of this host, made for local_ranks ranks; borrowed */
    int rank, ranks;    /* rank number and number of ranks in the whole communicator */
    int first_rank;     /* the lowest rank on this host */
    int local_ranks;  /* number of ranks on this host: first_rank to first_rank + local_ranks - 1 */
    uint64_t attempt; /* a number that must be the same on all ranks: a rank refuses a connection
                         from a rank with another number */
    const char *endpoint; /* address of rank 0, numeric "HOST:PORT" */
    int listener;         /* used only by rank 0: a socket that listens at `endpoint`; borrowed */
    const uint8_t *key;   /* a secret key of 32 bytes, the same on all ranks: all connections use
                             TLS 1.3 with this key. NULL: the connections are plain TCP without
                             authentication */
    uint64_t timeout_ns;  /* time limit of operations and of joining; 0: GW_COMM_TIMEOUT_DEFAULT_NS.
                             A rank tries to connect to another one for at most GW_COMM_REACH_NS */
    int *unreached; /* may be NULL; on failure it receives the number of a rank that did not join,
                       or that a rank of this host cannot reach */
};
#define GW_COMM_HOSTS_OPTIONS(...) GW_POINTER(gw_comm_hosts_options, __VA_ARGS__)

#define GW_COMM_REACH_NS (30ULL * 1000 * 1000 * 1000)

/* gw_comm_open_hosts joins as one rank and returns a communicator, which the caller closes with
 * gw_comm_close. It is collective: it returns when all ranks have joined. Returns GW_EEXIST if
 * another process has joined with this rank number, GW_EPERM if the connection was refused (another
 * key or attempt), GW_ETIMEDOUT with the number of a rank that did not join. It also returns the
 * errors of gw_comm_open_host and of any operation. A refused connection does not disturb the other
 * ranks. */
GW_API int gw_comm_open_hosts(const struct gw_comm_hosts_options *options, struct gw_comm **comm,
                              struct gw_error *error);

/* The NCCL backend. Each rank is a process with one GPU, on one host or several. The ranks also
 * share a communicator of the host backend. They use it to join, to compare the arguments of their
 * calls, and to abort. NCCL moves the data.
 *
 * Buffers should be in memory of the rank's device. If the buffers of all ranks are in host memory
 * (for a message: the buffer of the sender), the host communicator runs the operation and the
 * device is not used: so small control messages and checkpoints do not disturb it. If only some
 * ranks have a buffer in host memory, this buffer is copied through device memory. A buffer in host
 * memory is refused if the operation has a stream or is in a group. gw_comm_alloc returns device
 * memory that is registered with NCCL. gw_comm_dealloc waits for work on the stream of
 * gw_comm_stream, but work on other streams that uses the memory must have finished before.
 *
 * A blocking operation starts after all work that was launched earlier on the device's default
 * (legacy) stream. Work on other streams must have finished. After an operation the rank's device
 * is the current device of the calling thread.
 *
 * The order of a reduction is chosen by NCCL, and 16-bit types are rounded at every step. So
 * results may differ in their last bits from the host backend. If NCCL or the device reports an
 * error in the background, the communicator breaks: the pending operation or the next one returns
 * the error. */

struct gw_comm_nccl_options {
    size_t struct_size;   /* see options.h */
    struct gw_comm *host; /* a communicator of the host backend that nothing else uses.
                             gw_comm_open_nccl takes it over on success */
    int device;           /* CUDA device number of this rank in this process */
    uint64_t timeout_ns;  /* time limit of joining and of later operations, in nanoseconds; 0:
                             GW_COMM_TIMEOUT_DEFAULT_NS */
};
#define GW_COMM_NCCL_OPTIONS(...) GW_POINTER(gw_comm_nccl_options, __VA_ARGS__)

/* gw_comm_open_nccl joins with the rank number of `host` and returns a communicator, which the
 * caller closes with gw_comm_close. It is collective: it returns when all ranks have joined.
 * Returns GW_ENOTSUP on all ranks if libgangway-cuda.so, NCCL, the driver or a GPU is missing on
 * one of them (the text says what is missing, or on which rank). Returns GW_EINVAL on all ranks if
 * a rank has no such device. After these two errors `host` is still usable. After any other error
 * `host` is broken. On every error the caller still owns `host`. */
GW_API int gw_comm_open_nccl(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                             struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
