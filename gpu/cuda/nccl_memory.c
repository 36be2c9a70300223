/* Device memory of the NCCL backend: finding out where buffers are, copying buffers that NCCL
 * cannot access, gw_comm_alloc, and registration.
 *
 * If NCCL refuses a registration, operations are only slower. This is not an error. */
#include "gpu/cuda/nccl_state.h"

#include <assert.h>
#include <stdlib.h>

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 19, 0)
#error "NCCL 2.19 or later: ncclMemAlloc"
#endif

enum { STAGE_BYTES_MIN = 1 << 20 };

/* -- Where buffers lie ---------------------------------------------------------------------------
 */

enum where {
    ON_HOST,
    ON_DEVICE,  /* kernels of this rank's device can access the memory */
    ON_ANOTHER, /* on another device: it is copied, like memory of the host */
};

static enum where where_is(const struct gw_nccl *self, const void *memory)
{
    struct cudaPointerAttributes attributes;
    const char *at = memory;
    for (const struct gw_nccl_block *block = self->blocks; block; block = block->next)
        if (at >= block->memory && at < block->memory + block->bytes)
            return ON_DEVICE;
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
        (void)cudaGetLastError(); /* CUDA does not know this memory: clear the error */
        return ON_HOST;
    }
    if (attributes.type == cudaMemoryTypeManaged)
        return ON_DEVICE;
    if (attributes.type != cudaMemoryTypeDevice)
        return ON_HOST;
    return attributes.device == self->device ? ON_DEVICE : ON_ANOTHER;
}

static bool is_on_device(const struct gw_nccl *self, const void *memory)
{
    return where_is(self, memory) == ON_DEVICE;
}

bool gw_nccl_memory_reaches(struct gw_comm *comm, const void *memory)
{
    return is_on_device((struct gw_nccl *)comm, memory);
}

static cudaError_t stage_reserve(struct gw_nccl_stage *stage, size_t bytes)
{
    if (bytes <= stage->bytes)
        return cudaSuccess;
    (void)cudaFree(stage->memory);
    *stage = (struct gw_nccl_stage){0};
    size_t wanted = bytes < STAGE_BYTES_MIN ? STAGE_BYTES_MIN : bytes;
    cudaError_t rc = cudaMalloc(&stage->memory, wanted);
    if (rc == cudaSuccess)
        stage->bytes = wanted;
    else
        (void)cudaGetLastError();
    return rc;
}

int gw_nccl_memory_places(struct gw_nccl *self, const struct gw_comm_item *item, bool reached,
                          struct gw_nccl_places *places, struct gw_error *error)
{
    const struct gw_comm_args *args = &item->args;
    const size_t bytes = args->count * gw_dtype_size(args->dtype);
    const size_t all = bytes * (size_t)self->comm.size;
    struct gw_nccl_places found = {
        .send = args->send, .recv = args->recv, .send_bytes = bytes, .recv_bytes = bytes};
    if (item->verb == GW_COMM_REDUCE_SCATTER)
        found.send_bytes = all;
    if (item->verb == GW_COMM_ALL_GATHER)
        found.recv_bytes = all;
    if (item->verb == GW_COMM_RECV ||
        (item->verb == GW_COMM_BROADCAST && args->root != self->comm.rank))
        found.send_bytes = 0;
    if (item->verb == GW_COMM_SEND)
        found.recv_bytes = 0;
    const enum where send = found.send_bytes > 0 ? where_is(self, args->send) : ON_HOST;
    const enum where recv = found.recv_bytes > 0 ? where_is(self, args->recv) : ON_HOST;
    found.sends_copy = found.send_bytes > 0 && send != ON_DEVICE;
    found.receives_copy = found.recv_bytes > 0 && recv != ON_DEVICE;
    found.on_host = send == ON_HOST && recv == ON_HOST;
    if (found.send_bytes == 0) /* NCCL requires a pointer, but does not read it */
        found.send = found.recv;
    *places = found;
    return reached && (found.sends_copy || found.receives_copy)
               ? gw_error_set(error, GW_EINVAL, "%s: %s, buffers lie in this rank's device memory",
                              gw_comm_backend_verb_name(item->verb),
                              args->stream ? "with a stream" : "in a group")
               : 0;
}

int gw_nccl_memory_stage(struct gw_nccl *self, struct gw_nccl_places *places,
                         struct gw_error *error)
{
    cudaError_t rc = cudaSuccess;
    if (places->sends_copy)
        rc = stage_reserve(&self->stages[0], places->send_bytes);
    if (rc == cudaSuccess && places->receives_copy)
        rc = stage_reserve(&self->stages[1], places->recv_bytes);
    if (rc != cudaSuccess)
        return gw_nccl_wait_broken(self, "memory for a copy of a buffer", rc, error);
    if (places->receives_copy)
        places->recv = self->stages[1].memory;
    if (places->sends_copy)
        places->send = self->stages[0].memory;
    else if (places->send_bytes == 0)
        places->send = places->recv;
    return 0;
}

int gw_nccl_memory_copy(struct gw_nccl *self, void *to, const void *from, size_t bytes,
                        struct gw_error *error)
{
    cudaError_t rc = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, self->stream);
    return rc == cudaSuccess ? gw_nccl_wait_stream(self, error)
                             : gw_nccl_wait_broken(self, "copy", rc, error);
}

int gw_nccl_memory_copy_out(struct gw_comm *comm, const struct gw_comm_span *to, const void *from,
                            struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    int rc = gw_nccl_wait_begin(self, GW_COMM_WAIT, error);
    if (rc < 0 || to->bytes == 0)
        return rc;
    if (!to->stream)
        return gw_nccl_memory_copy(self, to->memory, from, to->bytes, error);
    cudaError_t cuda = cudaMemcpyAsync(to->memory, from, to->bytes, cudaMemcpyDefault, to->stream);
    return cuda == cudaSuccess ? 0 : gw_nccl_wait_broken(self, "copy", cuda, error);
}

int gw_nccl_memory_zero(struct gw_comm *comm, const struct gw_comm_span *span,
                        struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    const cudaStream_t stream = span->stream ? span->stream : self->stream;
    int rc = gw_nccl_wait_begin(self, GW_COMM_WAIT, error);
    if (rc < 0)
        return rc;
    cudaError_t cuda = cudaMemsetAsync(span->memory, 0, span->bytes, stream);
    if (cuda != cudaSuccess)
        return gw_nccl_wait_broken(self, "cudaMemset", cuda, error);
    return span->stream ? 0 : gw_nccl_wait_stream(self, error);
}

/* -- Blocks --------------------------------------------------------------------------------------
 */

static void history_add(struct gw_nccl *self, uint64_t event)
{
    self->history = (self->history ^ event) * 0x100000001b3 + 1;
}

/* Allocates zeroed device memory that NCCL can register. */
static int block_new(struct gw_nccl *self, size_t bytes, struct gw_nccl_block **block)
{
    void *memory;
    struct gw_nccl_block *made = calloc(1, sizeof *made);
    if (!made || ncclMemAlloc(&memory, bytes) != ncclSuccess) {
        (void)cudaGetLastError();
        free(made);
        return GW_ENOMEM;
    }
    *made = (struct gw_nccl_block){.memory = memory, .bytes = bytes, .is_ours = true};
    if (cudaMemsetAsync(memory, 0, bytes, self->stream) != cudaSuccess ||
        gw_nccl_wait_stream(self, NULL) < 0) { /* work that is late may still write to it */
        made->next = self->blocks;
        self->blocks = made;
        return GW_ENOMEM;
    }
    *block = made;
    return 0;
}

static void block_register(struct gw_nccl *self, struct gw_nccl_block *block)
{
    gw_nccl_watch_lock();
    if (!self->nccl ||
        ncclCommRegister(self->nccl, block->memory, block->bytes, &block->handle) != ncclSuccess)
        block->handle = NULL;
    gw_nccl_watch_unlock();
}

static void block_free(struct gw_nccl *self, struct gw_nccl_block *block)
{
    gw_nccl_watch_lock();
    if (block->handle && self->nccl) /* an aborted communicator has no registrations any more */
        (void)ncclCommDeregister(self->nccl, block->handle);
    gw_nccl_watch_unlock();
    if (block->is_ours)
        (void)ncclMemFree(block->memory);
    free(block);
}

/* Removes the block at `memory` from the list, which must contain it. */
static struct gw_nccl_block *block_take(struct gw_nccl *self, const void *memory)
{
    struct gw_nccl_block **at = &self->blocks;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    assert(*at && "memory of this communicator");
    struct gw_nccl_block *taken = *at;
    *at = taken->next;
    return taken;
}

int gw_nccl_memory_alloc(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    struct gw_nccl_block *block = NULL;
    int32_t worst;
    int rc = gw_nccl_wait_begin(self, GW_COMM_ALLOC, error);
    if (rc < 0)
        return rc;
    const struct gw_segment_call call = {
        .verb = GW_COMM_ALLOC,
        .count = bytes,
        .agreed = self->history,
        .send_at = GW_SEGMENT_NOWHERE,
        .recv_at = GW_SEGMENT_NOWHERE,
        .status = block_new(self, bytes, &block),
    };
    rc = gw_nccl_wait_meet(self, &call, &worst, error);
    if (rc == 0 && worst < 0)
        rc = gw_error_set(error, GW_ENOMEM, "alloc: rank %d has no %zu bytes of device memory",
                          gw_comm_worst_rank(worst), bytes);
    if (rc < 0) {
        if (block)
            block_free(self, block);
        return rc;
    }
    block_register(self, block);
    history_add(self, bytes);
    block->number = self->blocks_count++;
    block->next = self->blocks;
    self->blocks = block;
    *memory = block->memory;
    return 0;
}

/* Waits for the work on the streams of the communicator, for at most its timeout. This is necessary
 * because ncclMemFree, unlike cudaFree, does not wait for kernels that still write to the memory.
 */
static void streams_settle(struct gw_nccl *self)
{
    const cudaStream_t streams[] = {self->stream, self->side};
    int rc = gw_nccl_wait_begin(self, GW_COMM_WAIT, NULL);
    for (size_t i = 0; rc == 0 && i < sizeof streams / sizeof streams[0]; i++)
        if (cudaEventRecord(self->event, streams[i]) == cudaSuccess)
            rc = gw_nccl_wait_event(self, self->event, NULL);
}

void gw_nccl_memory_dealloc(struct gw_comm *comm, void *memory)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    struct gw_nccl_block *gone = block_take(self, memory);
    history_add(self, ~gone->number);
    streams_settle(self);
    (void)cudaSetDevice(self->device);
    block_free(self, gone);
}

int gw_nccl_memory_register(struct gw_comm *comm, void *memory, size_t bytes,
                            struct gw_error *error)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    const char *begin = memory;
    int rc = gw_nccl_wait_begin(self, GW_COMM_JOIN, error);
    if (rc < 0)
        return rc;
    for (const struct gw_nccl_block *block = self->blocks; block; block = block->next)
        if (begin < block->memory + block->bytes && block->memory < begin + bytes)
            return gw_error_set(error, GW_EINVAL, "register: %p is registered already", memory);
    if (!is_on_device(self, memory))
        return gw_error_set(error, GW_EINVAL, "register: %p is not in this rank's device memory",
                            memory);
    struct gw_nccl_block *block = calloc(1, sizeof *block);
    if (!block)
        return gw_error_set(error, GW_ENOMEM, "register");
    *block = (struct gw_nccl_block){.memory = memory, .bytes = bytes, .next = self->blocks};
    block_register(self, block);
    self->blocks = block;
    return 0;
}

void gw_nccl_memory_unregister(struct gw_comm *comm, void *memory)
{
    struct gw_nccl *self = (struct gw_nccl *)comm;
    block_free(self, block_take(self, memory));
}

void gw_nccl_memory_deinit(struct gw_nccl *self)
{
    while (self->blocks) {
        struct gw_nccl_block *block = self->blocks;
        self->blocks = block->next;
        block_free(self, block);
    }
    for (int i = 0; i < 2; i++)
        (void)cudaFree(self->stages[i].memory);
}
