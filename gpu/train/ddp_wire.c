/* Compression to BF16, and the search for gradients that are not finite, before a reduction spreads
 * them to all ranks. A rank keeps the offset of the first one as the bytes from there to the end of
 * the block: so 0 is "none", and the largest is the first. */
#include "gpu/train/ddp_wire.h"

#include "gpu/base/comm_backend.h"
#include "gpu/base/vector.h"
#include "gpu/cuda/module.h"

#include <stdlib.h>

int gw_ddp_wire_check(const struct gw_ddp_options *options, struct gw_error *error)
{
    const bool needs = options->compress_bf16 || options->find_not_finite;
    if (needs && !options->stream && options->comm->backend->has_streams)
        return gw_error_set(error, GW_EINVAL,
                            "ddp: compress_bf16 and find_not_finite need a stream with a "
                            "communicator on GPUs");
    return 0;
}

int gw_ddp_wire_open(struct gw_ddp_wire *wire, const struct gw_ddp_options *options,
                     struct gw_comm *comm, void *stream, size_t block_bytes, struct gw_error *error)
{
    void *memory;
    int rc = 0;
    *wire = (struct gw_ddp_wire){.comm = comm, .stream = stream, .block_bytes = block_bytes};
    if (stream && (options->compress_bf16 || options->find_not_finite))
        rc = gw_comm_nccl_kernels(&wire->device, error);
    if (rc == 0 && options->compress_bf16) {
        rc = gw_comm_alloc(comm, block_bytes / 2, &memory, error);
        wire->packed = rc == 0 ? memory : NULL;
    }
    if (rc == 0 && options->find_not_finite) {
        wire->found_bytes = (size_t)comm->size * sizeof *wire->found;
        rc = gw_comm_alloc(comm, wire->found_bytes, &memory, error);
        wire->found = rc == 0 ? memory : NULL;
    }
    return rc;
}

void gw_ddp_wire_close(struct gw_ddp_wire *wire)
{
    if (!wire->comm)
        return;
    gw_comm_dealloc(wire->comm, wire->found);
    gw_comm_dealloc(wire->comm, wire->packed);
}

int gw_ddp_wire_begin(struct gw_ddp_wire *wire, struct gw_error *error)
{
    const struct gw_comm_span span = {wire->found, wire->found_bytes, wire->stream};
    return wire->found ? gw_comm_zero(wire->comm, &span, error) : 0;
}

static int run(const struct gw_ddp_wire *wire, const struct gw_vector *vector,
               struct gw_error *error)
{
    if (wire->device)
        return wire->device->vector(wire->stream, vector, error);
    gw_vector_run(vector);
    return 0;
}

static bool is_packed(const struct gw_ddp_wire *wire, enum gw_dtype dtype)
{
    return wire->packed && (dtype == GW_DTYPE_F32 || dtype == GW_DTYPE_F64);
}

int gw_ddp_wire_pack(struct gw_ddp_wire *wire, const struct gw_ddp_wire_bucket *bucket,
                     struct gw_comm_args *args, struct gw_error *error)
{
    const size_t size = gw_dtype_size(bucket->dtype);
    const struct gw_vector find = {.kind = GW_VECTOR_NOT_FINITE,
                                   .from_dtype = bucket->dtype,
                                   .from = bucket->memory,
                                   .count = bucket->bytes / size,
                                   .limit = (int64_t)(wire->block_bytes - bucket->offset),
                                   .step = (int64_t)size,
                                   .found = wire->found ? wire->found + wire->comm->rank : NULL};
    int rc = wire->found ? run(wire, &find, error) : 0;
    if (rc < 0 || !is_packed(wire, bucket->dtype))
        return rc;
    args->recv = wire->packed + bucket->offset / 2;
    args->dtype = GW_DTYPE_BF16;
    const struct gw_vector pack = {.kind = GW_VECTOR_CONVERT,
                                   .from_dtype = bucket->dtype,
                                   .to_dtype = GW_DTYPE_BF16,
                                   .from = bucket->memory,
                                   .to = args->recv,
                                   .count = find.count};
    return run(wire, &pack, error);
}

int gw_ddp_wire_unpack(struct gw_ddp_wire *wire, const struct gw_ddp_wire_bucket *bucket,
                       struct gw_error *error)
{
    const struct gw_vector unpack = {.kind = GW_VECTOR_CONVERT,
                                     .from_dtype = GW_DTYPE_BF16,
                                     .to_dtype = bucket->dtype,
                                     .from = wire->packed + bucket->offset / 2,
                                     .to = bucket->memory,
                                     .count = bucket->bytes / gw_dtype_size(bucket->dtype)};
    return is_packed(wire, bucket->dtype) ? run(wire, &unpack, error) : 0;
}

int gw_ddp_wire_share(struct gw_ddp_wire *wire, struct gw_comm *comm, struct gw_error *error)
{
    return wire->found
               ? gw_comm_all_gather(comm,
                                    GW_COMM_ARGS(.recv = wire->found, .count = 1,
                                                 .dtype = GW_DTYPE_I64, .stream = wire->stream),
                                    error)
               : 0;
}

int gw_ddp_wire_found(struct gw_ddp_wire *wire, void *stream, int *rank, size_t *offset,
                      struct gw_error *error)
{
    int64_t *found = malloc(wire->found_bytes);
    if (!found)
        return gw_error_set(error, GW_ENOMEM, "ddp: out of memory");
    int rc = stream ? gw_comm_wait(wire->comm, stream, error) : 0;
    if (rc == 0)
        rc = gw_comm_copy(wire->comm, &(struct gw_comm_span){found, wire->found_bytes, NULL},
                          wire->found, error);
    *rank = -1;
    for (int i = wire->comm->size; rc == 0 && i-- > 0;)
        if (found[i] > 0) {
            *rank = i;
            *offset = wire->block_bytes - (size_t)found[i];
        }
    free(found);
    return rc;
}
