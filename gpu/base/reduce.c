/* Reduction kernels. The arrays are processed in blocks that fit into the first-level cache,
 * through a block on the stack. Each source is read once and each target is written once. A block
 * of a target is written only after the same block of all sources was read, so a target may be one
 * of the sources. The order is always source 0, 1, 2 ... */
#include "gpu/base/reduce.h"

#include "gpu/base/dtype_convert.h"
#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK = 1024 }; /* elements */

union block {
    float f32[BLOCK];
    double f64[BLOCK];
    int32_t i32[BLOCK];
    int64_t i64[BLOCK];
    uint8_t u8[BLOCK];
};

/* Computes out[i] = a[i] . b[i], where `.` is the reduction. Only averages use `scale`. out may be
 * a. */
typedef void fold_function(void *out, const void *a, const void *b, size_t count, double scale);

#define DEFINE_FOLD(name, type, expression)                                                        \
    static void name(void *out_, const void *a_, const void *b_, size_t count, double scale_)      \
    {                                                                                              \
        type *out = out_;                                                                          \
        const type *a = a_, *b = b_;                                                               \
        const type scale = (type)scale_;                                                           \
        (void)scale;                                                                               \
        _Pragma("GCC ivdep") for (size_t i = 0; i < count; i++)                                    \
        {                                                                                          \
            type x = a[i], y = b[i];                                                               \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }

#define DEFINE_FOLDS(suffix, type, sum, product)                                                   \
    DEFINE_FOLD(sum_##suffix, type, sum)                                                           \
    DEFINE_FOLD(prod_##suffix, type, product)                                                      \
    DEFINE_FOLD(min_##suffix, type, y < x ? y : x)                                                 \
    DEFINE_FOLD(max_##suffix, type, y > x ? y : x)

/* Integers must wrap on overflow. Therefore the arithmetic is unsigned, for which C defines this.
 */
DEFINE_FOLDS(f32, float, x + y, x *y)
DEFINE_FOLDS(f64, double, x + y, x *y)
DEFINE_FOLDS(i32, int32_t, (uint32_t)x + (uint32_t)y, (uint32_t)x *(uint32_t)y)
DEFINE_FOLDS(i64, int64_t, (uint64_t)x + (uint64_t)y, (uint64_t)x *(uint64_t)y)
DEFINE_FOLDS(u8, uint8_t, x + y, x *y)
DEFINE_FOLD(avg_first_f32, float, x *scale + y * scale)
DEFINE_FOLD(avg_first_f64, double, x *scale + y * scale)
DEFINE_FOLD(avg_next_f32, float, x + y * scale)
DEFINE_FOLD(avg_next_f64, double, x + y * scale)

struct kernel {
    fold_function *first; /* combines sources 0 and 1 */
    fold_function *next;  /* combines the result so far with the next source */
};

#define KERNELS(suffix)                                                                            \
    [GW_REDUCE_SUM] = {sum_##suffix, sum_##suffix},                                                \
    [GW_REDUCE_PROD] = {prod_##suffix, prod_##suffix},                                             \
    [GW_REDUCE_MIN] = {min_##suffix, min_##suffix}, [GW_REDUCE_MAX] = {max_##suffix, max_##suffix}

#define KERNELS_FLOAT                                                                              \
    {                                                                                              \
        KERNELS(f32), [GW_REDUCE_AVG] = { avg_first_f32, avg_next_f32 }                            \
    }

static const struct kernel kernels[][GW_REDUCE_AVG + 1] = {
    [GW_DTYPE_F32] = KERNELS_FLOAT,
    [GW_DTYPE_F64] = {KERNELS(f64), [GW_REDUCE_AVG] = {avg_first_f64, avg_next_f64}},
    [GW_DTYPE_I32] = {KERNELS(i32), [GW_REDUCE_AVG] = {sum_i32, sum_i32}},
    [GW_DTYPE_I64] = {KERNELS(i64), [GW_REDUCE_AVG] = {sum_i64, sum_i64}},
    [GW_DTYPE_BF16] = KERNELS_FLOAT,
    [GW_DTYPE_F16] = KERNELS_FLOAT,
    [GW_DTYPE_U8] = {KERNELS(u8), [GW_REDUCE_AVG] = {sum_u8, sum_u8}},
};

static bool is_half(enum gw_dtype dtype)
{
    return dtype == GW_DTYPE_BF16 || dtype == GW_DTYPE_F16;
}

static bool is_whole(enum gw_dtype dtype)
{
    return dtype == GW_DTYPE_I32 || dtype == GW_DTYPE_I64 || dtype == GW_DTYPE_U8;
}

static void widen(enum gw_dtype dtype, const uint16_t *from, float *to, size_t count)
{
    if (dtype == GW_DTYPE_BF16)
        for (size_t i = 0; i < count; i++)
            to[i] = dtype_bf16_to_f32(from[i]);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = dtype_f16_to_f32(from[i]);
}

static void narrow(enum gw_dtype dtype, const float *from, uint16_t *to, size_t count)
{
    if (dtype == GW_DTYPE_BF16)
        for (size_t i = 0; i < count; i++)
            to[i] = dtype_bf16_from_f32(from[i]);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = dtype_f16_from_f32(from[i]);
}

static void divide(enum gw_dtype dtype, union block *block, size_t count, int divisor)
{
    switch (dtype) {
    case GW_DTYPE_I32:
        for (size_t i = 0; i < count; i++)
            block->i32[i] /= divisor;
        return;
    case GW_DTYPE_I64:
        for (size_t i = 0; i < count; i++)
            block->i64[i] /= divisor;
        return;
    case GW_DTYPE_U8:
        for (size_t i = 0; i < count; i++)
            block->u8[i] = (uint8_t)(block->u8[i] / divisor);
        return;
    default:
        assert(!"floats were scaled before they were summed");
    }
}

static const char *source_of(const struct gw_reduction *r, int k, size_t at)
{
    return (const char *)r->source[k] + (r->source_at + at) * gw_dtype_size(r->dtype);
}

static char *target_of(const struct gw_reduction *r, int k, size_t at)
{
    return (char *)r->target[k] + (r->target_at + at) * gw_dtype_size(r->dtype);
}

static int divisor_of(const struct gw_reduction *r)
{
    return r->divisor ? r->divisor : r->sources;
}

/* Reduces one block of a 16-bit type in float. */
static void block_run_half(const struct gw_reduction *r, size_t at, size_t count)
{
    const struct kernel *kernel = &kernels[r->dtype][r->reduce];
    const double scale = 1.0 / divisor_of(r);
    float sum[BLOCK], wide[BLOCK];
    uint16_t result[BLOCK];

    widen(r->dtype, (const void *)source_of(r, 0, at), sum, count);
    if (r->sources == 1)
        for (size_t i = 0; i < count; i++)
            sum[i] *= (float)scale;
    for (int k = 1; k < r->sources; k++) {
        widen(r->dtype, (const void *)source_of(r, k, at), wide, count);
        (k == 1 ? kernel->first : kernel->next)(sum, sum, wide, count, scale);
    }
    narrow(r->dtype, sum, result, count);
    for (int k = 0; k < r->targets; k++)
        memcpy(target_of(r, k, at), result, count * sizeof result[0]);
}

/* Multiplies one block of a single source by 1/divisor (integers: divides it). */
static void block_scale(const struct gw_reduction *r, size_t at, size_t count)
{
    const double scale = 1.0 / divisor_of(r);
    union block block;
    const void *source = source_of(r, 0, at);
    if (r->dtype == GW_DTYPE_F32)
        for (size_t i = 0; i < count; i++)
            block.f32[i] = ((const float *)source)[i] * (float)scale;
    else if (r->dtype == GW_DTYPE_F64)
        for (size_t i = 0; i < count; i++)
            block.f64[i] = ((const double *)source)[i] * scale;
    else {
        memcpy(&block, source, count * gw_dtype_size(r->dtype));
        divide(r->dtype, &block, count, divisor_of(r));
    }
    for (int k = 0; k < r->targets; k++)
        memcpy(target_of(r, k, at), &block, count * gw_dtype_size(r->dtype));
}

/* Reduces one block of at least two sources of any other type. Two sources are combined directly
 * into the first target. This is safe if the target is a source too, because each element is read
 * before it is written. */
static void block_run(const struct gw_reduction *r, size_t at, size_t count)
{
    const struct kernel *kernel = &kernels[r->dtype][r->reduce];
    const double scale = 1.0 / divisor_of(r);
    const bool straight = r->sources == 2 && !(r->reduce == GW_REDUCE_AVG && is_whole(r->dtype));
    union block block;
    void *result = straight ? (void *)target_of(r, 0, at) : &block;

    kernel->first(result, source_of(r, 0, at), source_of(r, 1, at), count, scale);
    for (int k = 2; k < r->sources; k++)
        kernel->next(&block, &block, source_of(r, k, at), count, scale);
    if (r->reduce == GW_REDUCE_AVG && is_whole(r->dtype))
        divide(r->dtype, &block, count, divisor_of(r));
    for (int k = straight; k < r->targets; k++)
        memcpy(target_of(r, k, at), result, count * gw_dtype_size(r->dtype));
}

void gw_reduce_run(const struct gw_reduction *r)
{
    assert(r->sources >= 1 && r->targets >= 1);
    const bool scales = r->reduce == GW_REDUCE_AVG && divisor_of(r) != 1;
    if (r->sources == 1 && !scales) { /* a single source without scaling is already the result */
        for (int k = 0; k < r->targets; k++)
            memmove(target_of(r, k, 0), source_of(r, 0, 0), r->count * gw_dtype_size(r->dtype));
        return;
    }

    for (size_t at = 0; at < r->count; at += BLOCK) {
        size_t count = r->count - at < BLOCK ? r->count - at : BLOCK;
        if (is_half(r->dtype))
            block_run_half(r, at, count);
        else if (r->sources == 1)
            block_scale(r, at, count);
        else
            block_run(r, at, count);
    }
}

static const char *const reduce_names[] = {
    [GW_REDUCE_SUM] = "sum",     [GW_REDUCE_PROD] = "product", [GW_REDUCE_MIN] = "minimum",
    [GW_REDUCE_MAX] = "maximum", [GW_REDUCE_AVG] = "average",
};

const char *gw_reduce_name(enum gw_reduce reduce)
{
    return (int)reduce >= 0 && (int)reduce <= GW_REDUCE_AVG ? reduce_names[reduce] : "?";
}
