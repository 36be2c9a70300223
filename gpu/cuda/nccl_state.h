/* Internal interface of the NCCL backend, shared by its operations (nccl_comm.c), its waiting
 * (nccl_wait.c) and its memory (nccl_memory.c). */
#ifndef GW_GPU_CUDA_NCCL_STATE_H
#define GW_GPU_CUDA_NCCL_STATE_H

#include "gpu/base/comm_backend.h"
#include "gpu/host/segment.h"
#include <cuda_runtime_api.h>
#include <nccl.h>

/* Device memory for the copy of a buffer that is not in device memory. */
struct gw_nccl_stage {
    void *memory;
    size_t bytes;
};

/* Device memory that is registered with NCCL. */
struct gw_nccl_block {
    struct gw_nccl_block *next;
    char *memory;
    size_t bytes;
    void *handle;    /* handle of NCCL's registration; NULL: not registered */
    uint64_t number; /* number of blocks allocated before it */
    bool is_ours;    /* allocated by gw_comm_alloc */
};

/* Work on a stream that the watchdog looks after. */
struct gw_nccl_mark {
    cudaEvent_t event;
    cudaStream_t stream;
    enum gw_comm_verb verb;
    uint64_t timeout_ns, deadline_ns;
    bool pending;
};

enum { GW_NCCL_MARKS = 16 };

/* Captured operations that replays of graphs have begun and ended, in page-locked memory: the
 * device counts. Work runs as long as they differ. */
struct gw_nccl_replays {
    uint32_t begun, ended;
};

struct gw_nccl {
    struct gw_comm comm;
    struct gw_comm *host;       /* used to meet; owned while this communicator is open */
    struct gw_segment *segment; /* the segment of `host`, which breaks this communicator */
    ncclComm_t nccl;            /* NULL before it was created and after it was aborted; used under
                                   gw_nccl_watch_lock */
    int device;
    bool compares;       /* GANGWAY_COMM_CHECK of rank 0: compare also the operations on a stream */
    cudaStream_t stream; /* stream of blocking operations; ordered after the default stream */
    cudaStream_t side;   /* the stream of gw_comm_stream */
    cudaEvent_t event;   /* the event that this rank waits for */
    cudaEvent_t order;   /* used by gw_comm_follow */
    struct gw_nccl_stage stages[2]; /* staging buffers for send and recv */
    struct gw_nccl_block *blocks;
    uint64_t blocks_count;  /* number of blocks ever allocated */
    uint64_t history;       /* a digest of all alloc and dealloc calls; equal on all ranks */
    enum gw_comm_verb verb; /* the operation in progress */
    uint64_t deadline_ns;
    struct gw_nccl *watch_next; /* used by nccl_watch.c, like what follows */
    struct gw_nccl_mark marks[GW_NCCL_MARKS];
    uint64_t failed_ns; /* when NCCL was first seen to have failed; 0: not */
    volatile struct gw_nccl_replays *replays;
    enum gw_comm_verb replays_verb; /* of the last captured operation, and its timeout */
    uint64_t replays_timeout_ns;
    uint32_t replays_ended;    /* as last seen */
    uint64_t replays_since_ns; /* when it changed last while work ran; 0: no work runs */
    ncclComm_t ending;         /* being aborted; NULL: not, or done */
    uint64_t ending_until_ns;  /* callers wait for it so long */
    bool is_abandoned;         /* the thread that aborts it frees it */
    struct gw_nccl *ending_next;
};

/* -- nccl_watch.c --------------------------------------------------------------------------------
 */

/* gw_nccl_watch_add lets the watchdog look after a communicator that has joined: it breaks when its
 * work on streams is late or fails, and is aborted when it breaks. gw_nccl_watch_remove ends this;
 * a communicator that was not added is allowed. */
int gw_nccl_watch_add(struct gw_nccl *self, struct gw_error *error);
void gw_nccl_watch_remove(struct gw_nccl *self);

/* gw_nccl_watch_before comes before the operation in progress puts work on a stream, and
 * gw_nccl_watch_mark after it. Replays of captured work have the deadline that the operation had
 * when it was captured, counted from the moment when a replay comes to it. */
int gw_nccl_watch_before(struct gw_nccl *self, cudaStream_t stream, struct gw_error *error);
int gw_nccl_watch_mark(struct gw_nccl *self, cudaStream_t stream, struct gw_error *error);

/* gw_nccl_watch_drop aborts the NCCL communicator immediately, and all others that are broken. Work
 * that they have launched ends. The abort itself waits for the device, where a kernel of the
 * program may never end: the call returns after two seconds at the latest. */
void gw_nccl_watch_drop(struct gw_nccl *self);

/* gw_nccl_watch_close does the same at the end of a communicator that is no longer watched. Returns
 * false if the abort goes on: gw_nccl_comm_release is then called when it is done, by the thread
 * that does it, and the caller must not use `self` any more. */
bool gw_nccl_watch_close(struct gw_nccl *self);

/* gw_nccl_comm_release (nccl_comm.c) frees everything except `host`. */
void gw_nccl_comm_release(struct gw_nccl *self);

/* Between gw_nccl_watch_lock and gw_nccl_watch_unlock no other thread aborts a communicator. A
 * caller may use gw_nccl.nccl if it is not NULL, and must not wait for other ranks. */
void gw_nccl_watch_lock(void);
void gw_nccl_watch_unlock(void);

/* -- nccl_wait.c ---------------------------------------------------------------------------------
 */

/* gw_nccl_wait_begin starts an operation. It sets the deadline, selects the device and returns an
 * error if the communicator is broken. */
int gw_nccl_wait_begin(struct gw_nccl *self, enum gw_comm_verb verb, struct gw_error *error);

/* gw_nccl_wait_broken breaks the communicator on all ranks because a call of CUDA failed (with
 * GW_EDEVICE if the GPU failed, whatever the call was). If it is broken already, the first cause
 * stays. Returns the first cause. */
int gw_nccl_wait_broken(struct gw_nccl *self, const char *call, cudaError_t rc,
                        struct gw_error *error);

/* gw_nccl_wait_break does the same with a code (GW_EABORTED, GW_ETIMEDOUT ...) and a text. It may
 * be called from any thread. */
int gw_nccl_wait_break(struct gw_nccl *self, enum gw_comm_verb verb, int code, const char *what,
                       struct gw_error *error);

/* gw_nccl_wait_describe writes the text of an error of NCCL. */
void gw_nccl_wait_describe(ncclResult_t state, char *text, size_t size);

/* gw_nccl_wait_failed breaks the communicator for an error that NCCL reported. */
int gw_nccl_wait_failed(struct gw_nccl *self, ncclResult_t state, struct gw_error *error);

/* gw_nccl_wait_event waits for NCCL and for the event (NULL: only for NCCL) until the deadline. If
 * it fails, the NCCL communicator is aborted with all work that it has launched. */
int gw_nccl_wait_event(struct gw_nccl *self, cudaEvent_t event, struct gw_error *error);

/* gw_nccl_wait_stream does the same for all work on the stream of blocking operations. */
int gw_nccl_wait_stream(struct gw_nccl *self, struct gw_error *error);

/* gw_nccl_wait_comm waits until a new NCCL communicator is ready. */
int gw_nccl_wait_comm(struct gw_nccl *self, ncclComm_t nccl, struct gw_error *error);

/* gw_nccl_wait_meet returns when all ranks have called it with the same call. `worst` is the worst
 * result, as for meet of a backend. */
int gw_nccl_wait_meet(struct gw_nccl *self, const struct gw_segment_call *call, int32_t *worst,
                      struct gw_error *error);

/* gw_nccl_wait_meet_args meets for one operation: all ranks of a collective, or the two ranks of a
 * message. *on_host says if the buffers of this rank are in host memory. It receives true if the
 * host communicator moves the data: because the buffers of all ranks are in host memory, or those
 * of the sender of a message. */
int gw_nccl_wait_meet_args(struct gw_nccl *self, enum gw_comm_verb verb,
                           const struct gw_comm_args *args, bool *on_host, struct gw_error *error);

/* gw_nccl_wait_quiet waits a short time until the communicator's streams are empty. Returns false
 * if a kernel, which can only be one of the program, does not end. */
bool gw_nccl_wait_quiet(struct gw_nccl *self);

/* gw_nccl_wait_finish gives NCCL a short time to finish the communicator, then aborts it. */
void gw_nccl_wait_finish(struct gw_nccl *self);

/* -- nccl_memory.c -------------------------------------------------------------------------------
 */

/* The buffers that an operation uses. */
struct gw_nccl_places {
    const void *send;
    void *recv;
    size_t send_bytes, recv_bytes;
    bool sends_copy, receives_copy; /* true: `send` or `recv` needs a staging buffer */
    bool on_host;                   /* all buffers are in host memory */
};

/* gw_nccl_memory_places finds out where the buffers are. If `reached` is true (a stream, a group),
 * NCCL must be able to access them, or the function returns GW_EINVAL. */
int gw_nccl_memory_places(struct gw_nccl *self, const struct gw_comm_item *item, bool reached,
                          struct gw_nccl_places *places, struct gw_error *error);

/* gw_nccl_memory_stage prepares a staging buffer for each buffer that NCCL cannot access. */
int gw_nccl_memory_stage(struct gw_nccl *self, struct gw_nccl_places *places,
                         struct gw_error *error);

/* gw_nccl_memory_copy copies on the communicator's stream and waits. Nothing else may be on that
 * stream. */
int gw_nccl_memory_copy(struct gw_nccl *self, void *to, const void *from, size_t bytes,
                        struct gw_error *error);

/* gw_nccl_memory_deinit unregisters and frees all memory. */
void gw_nccl_memory_deinit(struct gw_nccl *self);

/* Functions of the backend's table. */
int gw_nccl_memory_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);
void gw_nccl_memory_dealloc(struct gw_comm *comm, void *memory);
int gw_nccl_memory_register(struct gw_comm *comm, void *memory, size_t bytes,
                            struct gw_error *error);
void gw_nccl_memory_unregister(struct gw_comm *comm, void *memory);
int gw_nccl_memory_zero(struct gw_comm *comm, const struct gw_comm_span *span,
                        struct gw_error *error);
int gw_nccl_memory_copy_out(struct gw_comm *comm, const struct gw_comm_span *to, const void *from,
                            struct gw_error *error);
bool gw_nccl_memory_reaches(struct gw_comm *comm, const void *memory);

#endif
