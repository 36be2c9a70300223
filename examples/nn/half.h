/* Numbers of 16 bits, for the CPU and for kernels. They round to the nearest, ties to even. */
#ifndef GW_EXAMPLES_NN_HALF_H
#define GW_EXAMPLES_NN_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define NN_HALF_INLINE static __host__ __device__ inline
#else
#define NN_HALF_INLINE static inline
#endif

NN_HALF_INLINE uint32_t nn_half_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

NN_HALF_INLINE float nn_half_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bfloat16 is the upper half of a float. */
NN_HALF_INLINE float nn_half_from_bf16(uint16_t half)
{
    return nn_half_float((uint32_t)half << 16);
}

NN_HALF_INLINE uint16_t nn_half_to_bf16(float value)
{
    const uint32_t bits = nn_half_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) /* NaN */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* IEEE 754 binary16: 5 bits of exponent, 10 of fraction. */
NN_HALF_INLINE float nn_half_from_f16(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t bits = (magnitude << 13) + (112u << 23);
    if (magnitude >= 0x7c00u) /* infinity, NaN */
        bits = magnitude << 13 | 0x7f800000u;
    else if (magnitude < 0x400u) /* in units of 2^-24 */
        bits = nn_half_bits((float)magnitude * 5.9604644775390625e-8f);
    return nn_half_float(bits | sign);
}

NN_HALF_INLINE uint16_t nn_half_to_f16(float value)
{
    const uint32_t bits = nn_half_bits(value), magnitude = bits & 0x7fffffffu;
    uint32_t half = (magnitude + 0xfffu + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    if (magnitude > 0x7f800000u)
        half = 0x7e00u;
    else if (magnitude >= 0x477ff000u) /* 65520 and more */
        half = 0x7c00u;
    else if (magnitude < 0x38800000u) /* the sum rounds to units of 2^-24 */
        half = nn_half_bits(nn_half_float(magnitude) + 0.5f) - 0x3f000000u;
    return (uint16_t)(half | (bits >> 16 & 0x8000u));
}

#endif
