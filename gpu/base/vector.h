/* Kernels over one array: conversions of element types, and the search for numbers that are not
 * finite. As in kernel.h, one source serves the host and devices. */
#ifndef GW_GPU_BASE_VECTOR_H
#define GW_GPU_BASE_VECTOR_H

#include <gangway/dtype.h>
#include <stdint.h>

enum gw_vector_kind {
    GW_VECTOR_CONVERT,    /* from[i] -> to[i] */
    GW_VECTOR_NOT_FINITE, /* for each such element: *found = max(*found, limit - i * step) */
};

struct gw_vector {
    enum gw_vector_kind kind;
    uint32_t from_dtype, to_dtype;
    const void *from;
    void *to;
    uint64_t count;
    int64_t limit, step; /* limit > count * step, so that 0 in *found means that all are finite */
    int64_t *found;
};

/* gw_vector_run runs a kernel on host memory in the calling thread. CONVERT is from F32 or F64 to
 * BF16 or back; NOT_FINITE takes all floats. */
void gw_vector_run(const struct gw_vector *vector);

#endif
