/* Conversions between float and the 16-bit types, inline for the loops of reduce.c
 * and for kernels. */
#ifndef GW_GPU_DTYPE_CONVERT_H
#define GW_GPU_DTYPE_CONVERT_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define GW_DTYPE_INLINE static __host__ __device__ inline
#else
#define GW_DTYPE_INLINE static inline
#endif

GW_DTYPE_INLINE uint32_t dtype_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

GW_DTYPE_INLINE float dtype_float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

GW_DTYPE_INLINE float dtype_bf16_to_f32(uint16_t bits)
{
    return dtype_float_of((uint32_t)bits << 16);
}

GW_DTYPE_INLINE uint16_t dtype_bf16_from_f32(float value)
{
    uint32_t bits = dtype_bits_of(value);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16; /* ties to even */
    uint32_t quiet = (bits >> 16) | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

GW_DTYPE_INLINE float dtype_f16_to_f32(uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fffu;
    uint32_t normal = (magnitude << 13) + (112u << 23); /* exponent bias 15 -> 127 */
    uint32_t special = (magnitude << 13) | 0x7f800000u; /* infinity, NaN */
    uint32_t subnormal = dtype_bits_of((float)(int32_t)magnitude * 0x1p-24f); /* exact */
    uint32_t result = magnitude < 0x400u ? subnormal : normal;
    result = magnitude >= 0x7c00u ? special : result;
    return dtype_float_of(result | ((uint32_t)(bits & 0x8000u) << 16));
}

GW_DTYPE_INLINE uint16_t dtype_f16_from_f32(float value)
{
    uint32_t bits = dtype_bits_of(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    /* Values from half of the smallest normal number: convert them to units of 2^-24 by adding 0.5.
     * The addition rounds to nearest even, because the last bit of a float between 0.5 and 1 is
     * 2^-24. Larger values are set to 0 first, so that their addition has no effect on the result.
     */
    uint32_t small = magnitude < 0x38800000u ? magnitude : 0;
    uint32_t subnormal = dtype_bits_of(dtype_float_of(small) + 0.5f) - 0x3f000000u;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result; /* 65520 and more: infinity */
    result = magnitude > 0x7f800000u ? 0x7e00u : result;  /* NaN */
    return (uint16_t)(result | ((bits >> 16) & 0x8000u));
}

#endif
