/* Inside of the NCCL backend: what its operations (nccl_comm.c), its waiting (nccl_wait.c) and its
 * memory (nccl_memory.c) share. */
#ifndef GW_GPU_CUDA_NCCL_STATE_H
#define GW_GPU_CUDA_NCCL_STATE_H

#include "gpu/base/comm_backend.h"
#include "gpu/host/segment.h"
#include <cuda_runtime_api.h>
#include <nccl.h>

/* Device memory for the copy of a buffer that lies elsewhere. */
struct gw_nccl_stage {
    void *memory;
    size_t bytes;
};

/* Device memory that NCCL knows. */
struct gw_nccl_block {
    struct gw_nccl_block *next;
    char *memory;
    size_t bytes;
    void *handle;    /* of its registration; NULL: NCCL made none */
    uint64_t number; /* how many were allocated before it */
    bool is_ours;    /* of gw_comm_alloc */
};

struct gw_nccl {
    struct gw_comm comm;
    struct gw_comm *host;       /* where ranks meet; its own while this one is open */
    struct gw_segment *segment; /* what breaks it, the host's */
    ncclComm_t nccl;            /* NULL before it is there, and once aborted */
    int device;
    cudaStream_t stream;            /* of blocking operations; follows the default stream */
    cudaStream_t side;              /* gw_comm_stream's */
    cudaEvent_t event;              /* what this rank waits for */
    cudaEvent_t order;              /* between streams */
    struct gw_nccl_stage stages[2]; /* send, recv */
    struct gw_nccl_block *blocks;
    uint64_t blocks_count;  /* ever allocated */
    uint64_t history;       /* a digest of all alloc and dealloc calls; equal on all ranks */
    enum gw_comm_verb verb; /* the operation in progress, and its deadline */
    uint64_t deadline_ns;
};

/* -- nccl_wait.c ---------------------------------------------------------------------------------
 */

/* gw_nccl_wait_begin starts an operation: refuses a broken communicator, sets the deadline, takes
 * the device. */
int gw_nccl_wait_begin(struct gw_nccl *self, enum gw_comm_verb verb, struct gw_error *error);

/* gw_nccl_wait_broken breaks the communicator on all ranks because a call of CUDA failed, unless
 * another cause was first; returns the first one. */
int gw_nccl_wait_broken(struct gw_nccl *self, const char *call, cudaError_t rc,
                        struct gw_error *error);

/* gw_nccl_wait_failed does so because NCCL reports an error. */
int gw_nccl_wait_failed(struct gw_nccl *self, ncclResult_t state, struct gw_error *error);

/* gw_nccl_wait_event waits for NCCL, and for the event (NULL: only NCCL), until the deadline; what
 * NCCL had launched is given up when it fails. */
int gw_nccl_wait_event(struct gw_nccl *self, cudaEvent_t event, struct gw_error *error);

/* gw_nccl_wait_comm waits until an NCCL communicator that is being made is there. */
int gw_nccl_wait_comm(struct gw_nccl *self, ncclComm_t nccl, struct gw_error *error);

/* gw_nccl_wait_meet: all ranks meet, and compare what they called; `worst` as meet of the backend
 * gives it. */
int gw_nccl_wait_meet(struct gw_nccl *self, const struct gw_segment_call *call, int32_t *worst,
                      struct gw_error *error);

/* gw_nccl_wait_meet_args meets for one operation: all ranks, or the two of a message. */
int gw_nccl_wait_meet_args(struct gw_nccl *self, enum gw_comm_verb verb,
                           const struct gw_comm_args *args, struct gw_error *error);

/* gw_nccl_wait_drop gives up NCCL's side at once; what it had launched ends. */
void gw_nccl_wait_drop(struct gw_nccl *self);

/* gw_nccl_wait_finish lets NCCL end its communicator in good order, for a moment; then drops it. */
void gw_nccl_wait_finish(struct gw_nccl *self);

/* -- nccl_memory.c -------------------------------------------------------------------------------
 */

/* Where an operation works. */
struct gw_nccl_places {
    const void *send;
    void *recv;
    size_t send_bytes, recv_bytes;
    bool sends_copy, receives_copy; /* these are stages */
};

/* gw_nccl_memory_places finds out where the buffers lie, and gets stages for those that NCCL cannot
 * reach; GW_EINVAL where they must be reached (a stream, a group). */
int gw_nccl_memory_places(struct gw_nccl *self, const struct gw_comm_item *item, bool reached,
                          struct gw_nccl_places *places, struct gw_error *error);

/* gw_nccl_memory_copy copies on the communicator's stream and waits: called when nothing else is on
 * it. */
int gw_nccl_memory_copy(struct gw_nccl *self, void *to, const void *from, size_t bytes,
                        struct gw_error *error);

/* gw_nccl_memory_deinit unregisters and frees everything. */
void gw_nccl_memory_deinit(struct gw_nccl *self);

/* The backend's. */
int gw_nccl_memory_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);
void gw_nccl_memory_dealloc(struct gw_comm *comm, void *memory);
int gw_nccl_memory_register(struct gw_comm *comm, void *memory, size_t bytes,
                            struct gw_error *error);
void gw_nccl_memory_unregister(struct gw_comm *comm, void *memory);
int gw_nccl_memory_zero(struct gw_comm *comm, const struct gw_comm_span *span,
                        struct gw_error *error);
int gw_nccl_memory_copy_out(struct gw_comm *comm, void *to, const void *from, size_t bytes,
                            struct gw_error *error);

#endif
