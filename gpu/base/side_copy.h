/* Copies from a device to memory of the host, beside the work on a stream. One thread prepares the
 * copies, and another one runs them while the first goes on. gw_checkpoint_writer uses this. */
#ifndef GW_GPU_BASE_SIDE_COPY_H
#define GW_GPU_BASE_SIDE_COPY_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct gw_side_copy;

struct gw_side_copy_item {
    void *to; /* in memory of `reserve` */
    const void *from;
    size_t bytes; /* at least 1 */
};

/* Functions of libgangway-cuda.so. A stream is a cudaStream_t of the calling thread's device. */
struct gw_side_copy_device {
    /* Makes a stream for the copies. `close` waits for them and frees all; NULL is allowed. */
    int (*open)(void *stream, struct gw_side_copy **side, struct gw_error *error);
    void (*close)(struct gw_side_copy *side);
    /* Returns memory of the host that the device reaches without a copy (pinned), with unspecified
     * content. It belongs to `side` until the next call. No copy may run. */
    int (*reserve)(struct gw_side_copy *side, size_t bytes, void **memory, struct gw_error *error);
    /* Returns true if all bytes are in memory of a device. */
    bool (*reaches)(const struct gw_side_copy *side, const void *memory, size_t bytes);
    /* The copies of the next `run` come after the work that is on the stream now. GW_EINVAL if the
     * stream is being captured. */
    int (*begin)(struct gw_side_copy *side, struct gw_error *error);
    /* Enqueues the copies; any thread may call it. */
    int (*run)(struct gw_side_copy *side, const struct gw_side_copy_item *items, size_t count,
               struct gw_error *error);
    /* Lets later work on the stream wait for the copies of the last `run`, which succeeded. */
    int (*follow)(struct gw_side_copy *side, struct gw_error *error);
    /* Waits for the copies; any thread may call it. */
    int (*wait)(struct gw_side_copy *side, struct gw_error *error);
};

#endif
