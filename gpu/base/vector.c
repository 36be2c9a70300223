/* Runs the kernels of vector.h on host memory. */
#include "gpu/base/vector_body.inc"

enum { BLOCK = 4096 }; /* elements that are looked at before one of them is searched */

static inline __attribute__((always_inline)) int
block_is_odd(const struct gw_vector *v, uint32_t dtype, uint64_t first, uint64_t end)
{
    int odd = 0;
    for (uint64_t i = first; i < end; i++)
        odd |= vector_is_odd(v->from, dtype, i);
    return odd;
}

static inline __attribute__((always_inline)) void search(const struct gw_vector *v, uint32_t dtype)
{
    for (uint64_t first = 0; first < v->count; first += BLOCK) {
        const uint64_t end = v->count - first < BLOCK ? v->count : first + BLOCK;
        uint64_t i = first;
        if (!block_is_odd(v, dtype, first, end))
            continue;
        while (!vector_is_odd(v->from, dtype, i))
            i++;
        if (vector_place(v, i) > *v->found)
            *v->found = vector_place(v, i);
        return;
    }
}

void gw_vector_run(const struct gw_vector *vector)
{
    if (vector->kind == GW_VECTOR_CONVERT) {
        vector_convert(vector, 0, 1);
        return;
    }
    switch (vector->from_dtype) {
    case GW_DTYPE_F64:
        search(vector, GW_DTYPE_F64);
        return;
    case GW_DTYPE_BF16:
        search(vector, GW_DTYPE_BF16);
        return;
    case GW_DTYPE_F16:
        search(vector, GW_DTYPE_F16);
        return;
    default:
        search(vector, GW_DTYPE_F32);
        return;
    }
}
