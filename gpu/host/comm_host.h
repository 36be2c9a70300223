/* Inside of the host backend: what its operations (comm_host.c), its messages between pairs
 * (comm_host_pair.c) and its memory (comm_host_memory.c) share. */
#ifndef GW_GPU_COMM_HOST_H
#define GW_GPU_COMM_HOST_H

#include "gpu/base/comm_backend.h"
#include "gpu/host/segment.h"

/* A part of the file behind the fixed part: the buffers of all ranks of one gw_comm_alloc, or free.
 */
struct gw_comm_host_extent {
    uint64_t offset; /* in the file */
    uint64_t stride; /* bytes of each rank's buffer, whole pages */
    uint64_t bytes;  /* of the extent, at least stride * ranks */
    char *memory;    /* where this process sees all of it; NULL: free */
};

struct gw_comm_host {
    struct gw_comm comm;
    struct gw_segment *segment;
    uint32_t step;        /* the last one published */
    uint64_t spin_ns;     /* 0 where ranks outnumber processors */
    uint64_t deadline_ns; /* of the operation in progress */

    /* Where the ranks of this segment are some of a larger communicator's (comm_ring.h): */
    uint64_t deadline_max_ns; /* of the operation that this one is a part of; 0: of none */
    int first_rank;           /* what texts call rank 0 */
    int divisor;              /* of averages; 0: as many as reduce */
    enum gw_comm_verb verb;

    struct gw_comm_host_extent
        *extents; /* by offset, without gaps, from the fixed part to the end */
    size_t extents_count;
    uint64_t history; /* a digest of all alloc and dealloc calls; equal on all ranks */
};

/* gw_comm_host_begin starts an operation: refuses a broken communicator, sets the deadline. */
int gw_comm_host_begin(struct gw_comm_host *host, enum gw_comm_verb verb, struct gw_error *error);

/* gw_comm_host_step publishes call together with what this rank wrote to its stage of step
 * host->step + 1, and returns when all ranks have done the same. The stage and call of a step stay
 * readable until the step after the next one is begun. */
int gw_comm_host_step(struct gw_comm_host *host, const struct gw_segment_call *call,
                      struct gw_error *error);

/* gw_comm_host_agree checks that all ranks' calls of the last step name the same operation. */
int gw_comm_host_agree(struct gw_comm_host *host, struct gw_error *error);

/* gw_comm_host_call returns rank's call of the last step. */
const struct gw_segment_call *gw_comm_host_call(const struct gw_comm_host *host, int rank);

/* gw_comm_host_await waits until peer has moved word to target. */
int gw_comm_host_await(struct gw_comm_host *host, int peer, _Atomic uint32_t *word, uint32_t target,
                       struct gw_error *error);

/* gw_comm_host_mismatch breaks the communicator: two ranks, as texts call them, called different
 * things. */
int gw_comm_host_mismatch(struct gw_comm_host *host, const int ranks[2],
                          const struct gw_segment_call *const calls[2], struct gw_error *error);

/* gw_comm_host_pair_send and gw_comm_host_pair_recv are the operations between two ranks. */
int gw_comm_host_pair_send(struct gw_comm_host *host, const struct gw_comm_args *args,
                           struct gw_error *error);
int gw_comm_host_pair_recv(struct gw_comm_host *host, const struct gw_comm_args *args,
                           struct gw_error *error);

/* gw_comm_host_memory_alloc and gw_comm_host_memory_dealloc are the backend's. */
int gw_comm_host_memory_alloc(struct gw_comm *comm, size_t bytes, void **memory,
                              struct gw_error *error);
void gw_comm_host_memory_dealloc(struct gw_comm *comm, void *memory);

/* gw_comm_host_memory_deinit unmaps everything. */
void gw_comm_host_memory_deinit(struct gw_comm_host *host);

/* gw_comm_host_memory_where returns where in the file bytes at memory lie, or GW_SEGMENT_NOWHERE.
 */
uint64_t gw_comm_host_memory_where(const struct gw_comm_host *host, const void *memory,
                                   size_t bytes);

/* gw_comm_host_memory_at is its inverse; NULL for bytes that are not all in one allocation. */
void *gw_comm_host_memory_at(const struct gw_comm_host *host, uint64_t where, size_t bytes);

#endif
