/* What DDP does to a bucket before its reduction and after it: compression, and the search for
 * gradients that are not finite. On a device all of it is work on the stream of the reductions. */
#ifndef GW_GPU_DDP_WIRE_H
#define GW_GPU_DDP_WIRE_H

#include "gpu/base/kernel.h"
#include <gangway/ddp.h>

struct gw_ddp_wire {
    struct gw_comm *comm;                  /* its memory holds what follows */
    const struct gw_kernel_device *device; /* NULL: gradients are in host memory */
    void *stream;                          /* of the reductions */
    char *packed;   /* a place for each bucket, in half of its offset; NULL: no compression */
    int64_t *found; /* of each rank: the block's bytes minus the offset of its first gradient that
                       is not finite; NULL: not wanted */
    size_t found_bytes;
    size_t block_bytes;
};

/* A bucket as it is in the block of all gradients. */
struct gw_ddp_wire_bucket {
    void *memory;
    size_t offset, bytes;
    enum gw_dtype dtype;
};

/* gw_ddp_wire_check returns GW_EINVAL if the options need a stream and have none. */
int gw_ddp_wire_check(const struct gw_ddp_options *options, struct gw_error *error);

/* gw_ddp_wire_open allocates for a block of gradients, which `comm` reduces on `stream` (NULL:
 * gradients are in host memory). It is collective. gw_ddp_wire_close frees it, also after an error.
 */
int gw_ddp_wire_open(struct gw_ddp_wire *wire, const struct gw_ddp_options *options,
                     struct gw_comm *comm, void *stream, size_t block_bytes,
                     struct gw_error *error);
void gw_ddp_wire_close(struct gw_ddp_wire *wire);

/* gw_ddp_wire_begin forgets what was found before. */
int gw_ddp_wire_begin(struct gw_ddp_wire *wire, struct gw_error *error);

/* gw_ddp_wire_pack makes args say what must be reduced: the bucket, or its compressed copy.
 * gw_ddp_wire_unpack puts the reduced copy into the bucket. */
int gw_ddp_wire_pack(struct gw_ddp_wire *wire, const struct gw_ddp_wire_bucket *bucket,
                     struct gw_comm_args *args, struct gw_error *error);
int gw_ddp_wire_unpack(struct gw_ddp_wire *wire, const struct gw_ddp_wire_bucket *bucket,
                       struct gw_error *error);

/* gw_ddp_wire_share sends what each rank found to all ranks, by `comm`. */
int gw_ddp_wire_share(struct gw_ddp_wire *wire, struct gw_comm *comm, struct gw_error *error);

/* gw_ddp_wire_found returns the first rank with a gradient that is not finite, and its offset in
 * the block, or -1 in *rank if there is none. It waits for `stream`. */
int gw_ddp_wire_found(struct gw_ddp_wire *wire, void *stream, int *rank, size_t *offset,
                      struct gw_error *error);

#endif
