/* Element types and the conversions of the 16-bit types. The conversions are integer code without
 * branches, so that a compiler can vectorise loops over them on every machine. */
#include <gangway/dtype.h>

#include "gpu/base/dtype_convert.h"

struct dtype_info {
    const char *name;
    size_t size;
};

static const struct dtype_info infos[] = {
    [GW_DTYPE_F32] = {"f32", 4}, [GW_DTYPE_F64] = {"f64", 8},   [GW_DTYPE_I32] = {"i32", 4},
    [GW_DTYPE_I64] = {"i64", 8}, [GW_DTYPE_BF16] = {"bf16", 2}, [GW_DTYPE_F16] = {"f16", 2},
    [GW_DTYPE_U8] = {"u8", 1},
};

int gw_dtype_is_valid(enum gw_dtype dtype)
{
    return (int)dtype >= GW_DTYPE_F32 && (int)dtype <= GW_DTYPE_U8;
}

size_t gw_dtype_size(enum gw_dtype dtype)
{
    return gw_dtype_is_valid(dtype) ? infos[dtype].size : 0;
}

const char *gw_dtype_name(enum gw_dtype dtype)
{
    return gw_dtype_is_valid(dtype) ? infos[dtype].name : "?";
}

uint16_t gw_bf16_from_f32(float value)
{
    return dtype_bf16_from_f32(value);
}

float gw_bf16_to_f32(uint16_t bits)
{
    return dtype_bf16_to_f32(bits);
}

uint16_t gw_f16_from_f32(float value)
{
    return dtype_f16_from_f32(value);
}

float gw_f16_to_f32(uint16_t bits)
{
    return dtype_f16_to_f32(bits);
}
