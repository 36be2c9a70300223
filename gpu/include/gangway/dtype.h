/* Element types of the arrays that collectives and training work on. */
#ifndef GANGWAY_DTYPE_H
#define GANGWAY_DTYPE_H

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are sent between processes and stored in checkpoints: never reuse or renumber one. 0
 * is not a type, so that a call without `.dtype` is refused. */
enum gw_dtype {
    GW_DTYPE_F32 = 1,  /* float */
    GW_DTYPE_F64 = 2,  /* double */
    GW_DTYPE_I32 = 3,  /* int32_t */
    GW_DTYPE_I64 = 4,  /* int64_t */
    GW_DTYPE_BF16 = 5, /* bfloat16 in a uint16_t: the upper half of a float */
    GW_DTYPE_F16 = 6,  /* IEEE 754 binary16 in a uint16_t */
    GW_DTYPE_U8 = 7,   /* uint8_t; bytes */
};

/* gw_dtype_is_valid returns 1 if dtype is one of the values above, else 0. */
GW_API int gw_dtype_is_valid(enum gw_dtype dtype);

/* gw_dtype_size returns the bytes of one element, or 0 for an unknown type. */
GW_API size_t gw_dtype_size(enum gw_dtype dtype);

/* gw_dtype_name returns "f32", "bf16" ..., or "?" for an unknown type. The string is static. */
GW_API const char *gw_dtype_name(enum gw_dtype dtype);

/* gw_bf16_from_f32 rounds to the nearest bfloat16, ties to even. A NaN becomes a quiet NaN. */
GW_API uint16_t gw_bf16_from_f32(float value);

/* gw_bf16_to_f32 converts without loss. */
GW_API float gw_bf16_to_f32(uint16_t bits);

/* gw_f16_from_f32 rounds to the nearest binary16, ties to even. Small values become subnormals. A
 * magnitude of 65520 or more becomes infinity. A NaN becomes a quiet NaN. */
GW_API uint16_t gw_f16_from_f32(float value);

/* gw_f16_to_f32 converts without loss. */
GW_API float gw_f16_to_f32(uint16_t bits);

#ifdef __cplusplus
}
#endif

#endif
