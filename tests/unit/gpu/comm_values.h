/* Elements of any type, read and written as doubles: for tests of communicators. */
#ifndef GW_TESTS_UNIT_COMM_VALUES_H
#define GW_TESTS_UNIT_COMM_VALUES_H

#include <gangway/dtype.h>
#include <stdint.h>
#include <stdlib.h>

static inline double value_get(enum gw_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
    case GW_DTYPE_F32:
        return (double)((const float *)array)[i];
    case GW_DTYPE_F64:
        return ((const double *)array)[i];
    case GW_DTYPE_I32:
        return ((const int32_t *)array)[i];
    case GW_DTYPE_I64:
        return (double)((const int64_t *)array)[i];
    case GW_DTYPE_BF16:
        return (double)gw_bf16_to_f32(((const uint16_t *)array)[i]);
    case GW_DTYPE_F16:
        return (double)gw_f16_to_f32(((const uint16_t *)array)[i]);
    case GW_DTYPE_U8:
        return ((const uint8_t *)array)[i];
    }
    abort();
}

static inline void value_set(enum gw_dtype dtype, void *array, size_t i, double value)
{
    switch (dtype) {
    case GW_DTYPE_F32:
        ((float *)array)[i] = (float)value;
        return;
    case GW_DTYPE_F64:
        ((double *)array)[i] = value;
        return;
    case GW_DTYPE_I32:
        ((int32_t *)array)[i] = (int32_t)value;
        return;
    case GW_DTYPE_I64:
        ((int64_t *)array)[i] = (int64_t)value;
        return;
    case GW_DTYPE_BF16:
        ((uint16_t *)array)[i] = gw_bf16_from_f32((float)value);
        return;
    case GW_DTYPE_F16:
        ((uint16_t *)array)[i] = gw_f16_from_f32((float)value);
        return;
    case GW_DTYPE_U8:
        ((uint8_t *)array)[i] = (uint8_t)value;
        return;
    }
    abort();
}

#endif
