/* Communicators: collective operations among the ranks of a gang.
 *
 * A communicator connects `size` ranks, numbered from 0. Every rank holds its own `struct gw_comm`
 * and calls the same collectives in the same order. Backends (host: shared memory on one machine;
 * NCCL: in libgangway-cuda.so) keep one contract, which holds for every operation here:
 *
 * - Blocking: with `.stream` NULL an operation returns when this rank's result is there and its
 *   buffers may be changed. With a stream (backends for devices only; others refuse it with
 *   GW_EINVAL) it is enqueued and gw_comm_wait waits for it.
 * - Deadline: each operation ends within the communicator's timeout, counted from its call.
 * - Failure: local mistakes (GW_EINVAL, before anything was sent) leave the communicator as it is.
 *   Everything else breaks it on all ranks for good. All operations, those that wait at that moment
 *   and every later one, then fail with one code that the first cause decides, and its text:
 *   GW_ETIMEDOUT (a deadline passed on some rank), GW_EMISMATCH (ranks called different operations
 *   or disagreed on count, type, reduction or root; the text names both), GW_EABORTED (aborted from
 *   outside, or a rank closed its communicator). A broken communicator can only be closed.
 *   Contents of buffers that an operation which failed would have written are unspecified.
 * - Order of a reduction: always rank 0, 1, 2 ...; the same input gives the same bits, on every
 *   rank and in every run (host backend; other backends say what they promise).
 * - Threads: one thread at a time uses a communicator; gw_comm_abort, gw_comm_rank and gw_comm_size
 *   may be called from any thread until gw_comm_close is called.
 *
 * Counts are elements, never bytes, and 0 is allowed (the operation then only synchronises).
 * Buffers are aligned to their element type. `send` and `recv` must not overlap, unless used in
 * place: leave one of them NULL. */
#ifndef GANGWAY_COMM_H
#define GANGWAY_COMM_H

#include <gangway/cxx.h>
#include <gangway/dtype.h>
#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_comm;
struct ncclComm; /* NCCL's; ncclComm_t points to one */

/* How elements of all ranks become one. 16-bit types are reduced in float arithmetic and rounded
 * once. Integers wrap. Where a rank has a NaN, a sum, product or average is NaN; which of NaN and
 * number a minimum or maximum gives is not specified, but it is the same on all ranks. */
enum gw_reduce {
    GW_REDUCE_SUM = 0,
    GW_REDUCE_PROD = 1,
    GW_REDUCE_MIN = 2,
    GW_REDUCE_MAX = 3,
    GW_REDUCE_AVG = 4, /* floats: each times 1/size, then summed; integers: summed, then divided,
                          rounded towards zero (as ncclAvg) */
};

/* What an operation works on; each operation says which fields it reads. */
struct gw_comm_args {
    const void *send;
    void *recv;
    size_t count;          /* elements; see each operation */
    enum gw_dtype dtype;   /* of send and recv */
    enum gw_reduce reduce; /* all_reduce, reduce_scatter */
    int root;              /* broadcast: whose data; send, recv: the other rank */
    void *stream;          /* NULL: block; else the backend's stream (a cudaStream_t) */
};

/* What one rank wants of gw_comm_split. */
struct gw_comm_split {
    int colour; /* ranks with the same one are together; negative: this rank is in no part */
    int key;    /* ranks of a part are numbered by their keys, those with equal ones as here */
};

/* GW_COMM_ARGS makes an argument on the spot: GW_COMM_ARGS(.recv = x, .count = n, ...). */
#ifdef __cplusplus
#define GW_COMM_ARGS(...) gw_comm_args_of(GW_BRACES(gw_comm_args, __VA_ARGS__))
#else
#define GW_COMM_ARGS(...) (&(const struct gw_comm_args){__VA_ARGS__})
#endif

/* gw_comm_rank returns this process's rank, 0 to size - 1. */
GW_API int gw_comm_rank(const struct gw_comm *comm);

/* gw_comm_size returns the number of ranks, at least 1. */
GW_API int gw_comm_size(const struct gw_comm *comm);

/* gw_comm_backend returns "host" or "nccl"; static. */
GW_API const char *gw_comm_backend(const struct gw_comm *comm);

/* gw_comm_set_timeout sets the deadline of later operations, from their call on; 0: the default of
 * GW_COMM_TIMEOUT_DEFAULT_NS. It should be the same on all ranks: the shortest one wins. */
GW_API void gw_comm_set_timeout(struct gw_comm *comm, uint64_t timeout_ns);

#define GW_COMM_TIMEOUT_DEFAULT_NS (600ULL * 1000 * 1000 * 1000)

/* gw_comm_all_reduce reduces send[count] of all ranks into recv[count] of every rank. In place:
 * send NULL (or equal to recv). */
GW_API int gw_comm_all_reduce(struct gw_comm *comm, const struct gw_comm_args *args,
                              struct gw_error *error);

/* gw_comm_broadcast copies send[count] of rank `root` into recv[count] of every rank. In place:
 * send NULL (or equal to recv). Ranks other than root need no send. */
GW_API int gw_comm_broadcast(struct gw_comm *comm, const struct gw_comm_args *args,
                             struct gw_error *error);

/* gw_comm_all_gather puts send[count] of rank r at recv[r * count] of every rank; recv has size *
 * count elements. In place: send NULL, this rank's part lies at recv[rank * count] already. */
GW_API int gw_comm_all_gather(struct gw_comm *comm, const struct gw_comm_args *args,
                              struct gw_error *error);

/* gw_comm_reduce_scatter reduces send[size * count] of all ranks and puts elements r * count to
 * (r + 1) * count of the result into recv[count] of rank r. In place: recv NULL, the result lies at
 * send[rank * count], and send is written to there although its type says const. */
GW_API int gw_comm_reduce_scatter(struct gw_comm *comm, const struct gw_comm_args *args,
                                  struct gw_error *error);

/* gw_comm_send sends send[count] to rank `root`, which must call gw_comm_recv with the same count
 * and type. It may return before that (small messages are buffered) or block until then: two ranks
 * that both send first and receive second can wait for each other until the deadline. */
GW_API int gw_comm_send(struct gw_comm *comm, const struct gw_comm_args *args,
                        struct gw_error *error);

/* gw_comm_recv receives recv[count] from rank `root`; messages of one pair arrive in order. */
GW_API int gw_comm_recv(struct gw_comm *comm, const struct gw_comm_args *args,
                        struct gw_error *error);

/* gw_comm_barrier returns when every rank has called it. */
GW_API int gw_comm_barrier(struct gw_comm *comm, struct gw_error *error);

/* gw_comm_group_begin and gw_comm_group_end make one of all operations that this rank calls
 * between them: those only record what is wanted (and return 0, or GW_EINVAL at once: then it is
 * not part of the group), gw_comm_group_end does it all. Messages of a group do not wait for each
 * other's order: all ranks may send and receive in any, if what belongs together is in a group at
 * both ends. Collectives stand in the same order on all ranks, and come before messages. Short
 * reductions of one kind that follow each other travel as one (host backend; NCCL decides itself).
 * Buffers are touched until gw_comm_group_end returns, and no two operations of a group write to
 * one buffer, nor one what another reads. Each operation has a deadline of its own. GW_EINVAL: a
 * barrier, wait, alloc, split, or begin within a group; end without begin; on NCCL a buffer that is
 * not in device memory (nothing was sent). gw_comm_close drops a group that was not ended. */
GW_API int gw_comm_group_begin(struct gw_comm *comm, struct gw_error *error);
GW_API int gw_comm_group_end(struct gw_comm *comm, struct gw_error *error);

/* gw_comm_split makes smaller communicators of one: a collective that gives back this rank's, for
 * gw_comm_close, or NULL where its colour is negative. Backend and timeout are the parent's. A
 * child breaks when its parent does, at the latest when it is next waited for (within a few
 * hundredths of a second), with the same code and text, whose rank numbers are the parent's; what
 * breaks a child does not break its parent. Either may be closed first. Where it fails on any rank
 * it fails on all and makes nothing: GW_ENOTSUP (across hosts: keys mix ranks of several hosts in
 * one part), GW_ENOMEM, GW_EIO (a process of the same user may not open another's descriptors); the
 * parent stays as it is then. */
GW_API int gw_comm_split(struct gw_comm *comm, const struct gw_comm_split *split,
                         struct gw_comm **child, struct gw_error *error);

/* gw_comm_stream gives back a stream of the communicator's own (borrowed, until gw_comm_close), on
 * which operations run beside the work of the caller's streams. GW_ENOTSUP: the host backend, whose
 * operations run in the thread that calls them. */
GW_API int gw_comm_stream(struct gw_comm *comm, void **stream, struct gw_error *error);

/* gw_comm_follow lets whatever is enqueued on stream from now on wait, on the device, until what is
 * on `after` now is done. It does not block, and is not collective. GW_ENOTSUP as above; GW_EINVAL:
 * no stream of this rank's device. */
GW_API int gw_comm_follow(struct gw_comm *comm, void *stream, void *after, struct gw_error *error);

/* gw_comm_wait returns when everything this rank enqueued on stream is done; at once for blocking
 * backends. */
GW_API int gw_comm_wait(struct gw_comm *comm, void *stream, struct gw_error *error);

/* gw_comm_alloc allocates memory that all ranks' operations reach without a copy. Collective: every
 * rank calls it with the same bytes (> 0) and gets a buffer of its own, zeroed, aligned to a page.
 * It belongs to the communicator: gw_comm_dealloc or gw_comm_close frees it. Not enough memory on
 * any rank is GW_ENOMEM on all and does not break the communicator. */
GW_API int gw_comm_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);

/* gw_comm_dealloc frees what gw_comm_alloc returned (NULL: nothing). It does not wait for others,
 * but all ranks deallocate and allocate in the same order (else the next gw_comm_alloc is
 * GW_EMISMATCH). */
GW_API void gw_comm_dealloc(struct gw_comm *comm, void *memory);

/* gw_comm_register tells the backend that operations will often use these bytes at memory (device
 * memory of this rank that gw_comm_alloc did not return), so that it prepares them once; no
 * operation needs it. Not collective, but of use only where all ranks register at the same offsets.
 * The memory stays the caller's, which calls gw_comm_unregister before freeing it; gw_comm_close
 * unregisters what is left. GW_ENOTSUP with a text: the host backend, where only memory of
 * gw_comm_alloc is reached without a copy. GW_EINVAL: not in device memory, or registered. */
GW_API int gw_comm_register(struct gw_comm *comm, void *memory, size_t bytes,
                            struct gw_error *error);

/* gw_comm_unregister undoes gw_comm_register (NULL: nothing). */
GW_API void gw_comm_unregister(struct gw_comm *comm, void *memory);

/* gw_comm_nccl gives back NCCL's own communicator, for calls that are not here. Borrowed: valid
 * until gw_comm_close, or until an operation fails, which destroys it; it is non-blocking (NCCL
 * calls may return ncclInProgress). What is launched on it is launched by all ranks in the same
 * order, between operations of comm. GW_ENOTSUP with a text: another backend; the cause, where the
 * communicator is broken. */
GW_API int gw_comm_nccl(struct gw_comm *comm, struct ncclComm **handle, struct gw_error *error);

/* gw_comm_abort breaks the communicator on all ranks: `cause` (a negative GW_E...) and `rank`
 * (whose fault; -1: nobody's) stand in their texts; the first abort is kept. Any thread, also while
 * another one is inside an operation. */
GW_API void gw_comm_abort(struct gw_comm *comm, int cause, int rank);

/* gw_comm_close frees the communicator and its memory (NULL: nothing). Not collective; ranks that
 * still wait for this one fail with GW_EABORTED. */
GW_API void gw_comm_close(struct gw_comm *comm);

/* The host backend: ranks are processes (or threads) of one machine that share a segment, an
 * anonymous file (memfd). The launcher creates it and hands the descriptor to each rank. */

enum { GW_COMM_HOST_RANKS_MAX = 128 };

/* gw_comm_segment_create makes a segment for ranks (1 to GW_COMM_HOST_RANKS_MAX) and returns its
 * descriptor (close-on-exec), which the caller closes. One segment serves one communicator once.
 * Memory is used only as it is touched: about 1 MiB a rank, more with gw_comm_alloc. GW_EINVAL,
 * GW_EIO. Any thread. */
GW_API int gw_comm_segment_create(int ranks, int *fd, struct gw_error *error);

/* gw_comm_segment_abort is gw_comm_abort from outside, for a launcher that sees a rank die. Safe at
 * any time, from any process that holds the descriptor (borrowed). This and the next two:
 * GW_EINVAL, GW_ECORRUPT or GW_EVERSION for what is no segment, or one of another version;
 * GW_ENOMEM. */
GW_API int gw_comm_segment_abort(int fd, int cause, int rank, struct gw_error *error);

/* gw_comm_segment_aborted returns 1 and the first cause if the communicator is broken, 0 if not. */
GW_API int gw_comm_segment_aborted(int fd, int *cause, int *rank, struct gw_error *error);

/* Where a rank stands, for whoever looks for one that hangs. */
enum gw_comm_presence {
    GW_COMM_ABSENT = 0, /* has not joined yet */
    GW_COMM_OPEN = 1,
    GW_COMM_CLOSED = 2,
};

struct gw_comm_progress {
    enum gw_comm_presence presence;
    uint64_t begun;        /* operations of comm.h that this rank has called, on any backend */
    const char *operation; /* the one that it is in, "all_reduce" ...; NULL: in none. Static */
};

/* gw_comm_segment_progress reads where a rank (as the segment counts them) stands. Safe at any
 * time, from any process that holds the descriptor (borrowed); the values of a rank that runs are
 * of about the same moment. GW_EINVAL: no such rank. */
GW_API int gw_comm_segment_progress(int fd, int rank, struct gw_comm_progress *progress,
                                    struct gw_error *error);

struct gw_comm_host_options {
    int fd;              /* of the segment; borrowed: the communicator keeps a duplicate */
    int rank;            /* 0 to ranks - 1; GW_EEXIST if it was opened before */
    int ranks;           /* as at gw_comm_segment_create, else GW_EMISMATCH */
    uint64_t timeout_ns; /* 0: GW_COMM_TIMEOUT_DEFAULT_NS */
};

/* gw_comm_open_host joins the segment as one rank and gives back a communicator for gw_comm_close.
 * It does not wait for the other ranks. GW_ECORRUPT or GW_EVERSION: the descriptor is no segment,
 * or one of another version. */
GW_API int gw_comm_open_host(const struct gw_comm_host_options *options, struct gw_comm **comm,
                             struct gw_error *error);

/* The host backend across hosts: the ranks of each host share a segment of their own, made for
 * them alone, and the first rank of every host is connected to that of the next one, in a ring.
 * Also "host" by its name. What differs from one host: a reduction runs over the ranks of each host
 * first, then over hosts in an order of its own for every part of the buffer, so its bits depend on
 * how many ranks each host has, but are the same on every rank and in every run; 16-bit types are
 * rounded once a host. A cause of failure reaches the other hosts within a few hundredths of a
 * second; a host that vanishes without a word is noticed after about ten seconds. */

struct gw_comm_hosts_options {
    int fd;               /* of this host's segment, for local_ranks; borrowed */
    int rank, ranks;      /* in the whole communicator */
    int first_rank;       /* the lowest rank of this host */
    int local_ranks;      /* which has these many, first_rank to first_rank + local_ranks - 1 */
    uint64_t attempt;     /* the same on all ranks; who comes with another one is refused */
    const char *endpoint; /* where rank 0 is reached: "HOST:PORT", numeric */
    int listener;         /* rank 0: a socket that listens there; borrowed. Others: not read */
    const uint8_t *key;   /* 32 bytes, the same on all ranks: all connections are TLS 1.3 by it;
                             NULL: plain TCP, and whoever can connect is believed */
    uint64_t timeout_ns;  /* also for joining; 0: GW_COMM_TIMEOUT_DEFAULT_NS. Ranks reach each other
                             within GW_COMM_REACH_NS, or not at all */
    int *unreached; /* written if this rank, or another of its host, cannot reach a rank, or that
                       one does not come: its number; NULL: not wanted */
};

#define GW_COMM_REACH_NS (30ULL * 1000 * 1000 * 1000)

/* gw_comm_open_hosts joins as one rank and gives back a communicator for gw_comm_close. Collective:
 * it returns when all ranks have joined. GW_EEXIST: another one has this rank's number; GW_EPERM:
 * refused (another key or attempt); GW_ETIMEDOUT names a rank that did not come; else as
 * gw_comm_open_host and as any operation. A connection that is refused disturbs nobody else. */
GW_API int gw_comm_open_hosts(const struct gw_comm_hosts_options *options, struct gw_comm **comm,
                              struct gw_error *error);

/* The NCCL backend: ranks are processes with a GPU each, on one host or several, that share a
 * communicator of the host backend, by which they meet, compare what they called, and abort; NCCL
 * moves the data. Buffers lie in memory of the rank's device; others are copied through it, and
 * refused together with a stream or in a group. gw_comm_alloc gives device memory, registered with
 * NCCL; gw_comm_dealloc waits for what gw_comm_stream's stream does with it, and what other streams
 * do with it must be done. A blocking operation begins after what was launched on the device's
 * default (legacy) stream before; work on other streams must be done. Operations leave the rank's
 * device the calling thread's current one. What it promises less than the host backend: 16-bit
 * types are rounded at every step of a reduction, whose order is NCCL's. An error that NCCL or the
 * device reports in the background breaks the communicator; whoever waits in an operation, and the
 * next one, sees it. */

struct gw_comm_nccl_options {
    struct gw_comm *host; /* of the host backend, on which nothing else runs. Taken on success */
    int device;           /* of this rank, as CUDA counts in this process */
    uint64_t timeout_ns;  /* also for joining; 0: GW_COMM_TIMEOUT_DEFAULT_NS */
};

/* gw_comm_open_nccl joins as the rank that `host` has and gives back a communicator for
 * gw_comm_close. Collective: it returns when all ranks have joined. GW_ENOTSUP on all ranks where
 * libgangway-cuda.so, NCCL, the driver or a GPU is missing on one (the text says what, or which
 * rank), GW_EINVAL on all where a rank has no such device: `host` can be used then. Else as any
 * operation: `host` is broken. It stays the caller's whenever this fails. */
GW_API int gw_comm_open_nccl(const struct gw_comm_nccl_options *options, struct gw_comm **comm,
                             struct gw_error *error);

#ifdef __cplusplus
}

/* What GW_COMM_ARGS expands to in C++. */
static inline const gw_comm_args *gw_comm_args_of(const gw_comm_args &args)
{
    return &args;
}
#endif

#endif
