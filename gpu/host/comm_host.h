/* Internal interface of the host backend, shared by its collectives (comm_host.c), its messages
 * between two ranks (comm_host_pair.c) and its memory (comm_host_memory.c). */
#ifndef GW_GPU_COMM_HOST_H
#define GW_GPU_COMM_HOST_H

#include "gpu/base/comm_backend.h"
#include "gpu/host/segment.h"

/* A range of the segment's file after the fixed part. It holds the buffers of all ranks for one
 * gw_comm_alloc, or it is free. */
struct gw_comm_host_extent {
    uint64_t offset; /* offset in the file */
    uint64_t stride; /* bytes of each rank's buffer, a multiple of the page size */
    uint64_t bytes;  /* size of the extent, at least stride * ranks */
    char *memory;    /* address of the extent in this process; NULL: free */
};

struct gw_comm_host {
    struct gw_comm comm;
    struct gw_segment *segment;
    uint32_t step;        /* the last step that was published */
    uint64_t spin_ns;     /* 0 if there are more ranks than processors */
    uint64_t deadline_ns; /* deadline of the operation in progress */

    /* Used if the ranks of this segment are a part of a larger communicator (comm_ring.h): */
    uint64_t deadline_max_ns; /* if this operation is a part of a larger one, the deadline of the
                                 larger one; otherwise 0 */
    int first_rank;           /* number of local rank 0 in the larger communicator, for texts */
    int divisor;              /* divisor of averages; 0: the number of ranks of this segment */
    enum gw_comm_verb verb;

    struct gw_comm_host_extent
        *extents; /* the extents of the segment's file, sorted by offset; together they cover the
                     file from the end of the fixed part to its end */
    size_t extents_count;
    uint64_t history; /* a digest of all alloc and dealloc calls; equal on all ranks */
};

/* gw_comm_host_begin starts an operation. It sets the deadline and returns an error if the
 * communicator is broken. */
int gw_comm_host_begin(struct gw_comm_host *host, enum gw_comm_verb verb, struct gw_error *error);

/* gw_comm_host_step publishes `call` and the data that this rank wrote to its stage of step
 * host->step + 1. It returns when all ranks have published the same step. The stage and the call of
 * a step stay readable until the rank begins the step after the next one. */
int gw_comm_host_step(struct gw_comm_host *host, const struct gw_segment_call *call,
                      struct gw_error *error);

/* gw_comm_host_agree checks that the calls of all ranks in the last step name the same operation.
 */
int gw_comm_host_agree(struct gw_comm_host *host, struct gw_error *error);

/* gw_comm_host_call returns a rank's call of the last step. */
const struct gw_segment_call *gw_comm_host_call(const struct gw_comm_host *host, int rank);

/* gw_comm_host_await waits until `peer` has increased `word` to `target`. */
int gw_comm_host_await(struct gw_comm_host *host, int peer, _Atomic uint32_t *word, uint32_t target,
                       struct gw_error *error);

/* gw_comm_host_mismatch breaks the communicator because two ranks called different operations.
 * `ranks` are their numbers in error texts. */
int gw_comm_host_mismatch(struct gw_comm_host *host, const int ranks[2],
                          const struct gw_segment_call *const calls[2], struct gw_error *error);

/* gw_comm_host_pair_send and gw_comm_host_pair_recv implement send and recv. */
int gw_comm_host_pair_send(struct gw_comm_host *host, const struct gw_comm_args *args,
                           struct gw_error *error);
int gw_comm_host_pair_recv(struct gw_comm_host *host, const struct gw_comm_args *args,
                           struct gw_error *error);

/* gw_comm_host_memory_alloc and gw_comm_host_memory_dealloc implement alloc and dealloc of the
 * backend. */
int gw_comm_host_memory_alloc(struct gw_comm *comm, size_t bytes, void **memory,
                              struct gw_error *error);
void gw_comm_host_memory_dealloc(struct gw_comm *comm, void *memory);

/* gw_comm_host_memory_deinit unmaps all extents. */
void gw_comm_host_memory_deinit(struct gw_comm_host *host);

/* gw_comm_host_memory_where returns the offset in the file of the bytes at memory, or
 * GW_SEGMENT_NOWHERE if they are not in one allocation. */
uint64_t gw_comm_host_memory_where(const struct gw_comm_host *host, const void *memory,
                                   size_t bytes);

/* gw_comm_host_memory_at returns the address of an offset in the file, or NULL if the bytes are not
 * in one allocation. */
void *gw_comm_host_memory_at(const struct gw_comm_host *host, uint64_t where, size_t bytes);

#endif
