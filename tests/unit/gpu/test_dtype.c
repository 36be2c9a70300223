/* 16-bit conversions over every bit pattern, and the generator against its published numbers. */
#include "tests/unit/unit.h"

#include <gangway/dtype.h>
#include <gangway/rng.h>
#include <math.h>
#include <string.h>

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value of a binary16 by its definition. */
static double f16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static void f16_converts_to_f32_and_back_unchanged(void **state)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = gw_f16_to_f32((uint16_t)bits);
        if ((bits & 0x7fff) > 0x7c00)
            assert_true(isnan(value));
        else if ((bits & 0x7fff) == 0x7c00)
            assert_true(isinf(value) && !signbit(value) == !(bits & 0x8000));
        else
            assert_true((double)value == f16_value((uint16_t)bits) &&
                        !signbit(value) == !(bits & 0x8000));
        if ((bits & 0x7fff) <= 0x7c00)
            assert_int_equal(gw_f16_from_f32(value), bits);
        else
            assert_true((gw_f16_from_f32(value) & 0x7fff) > 0x7c00);
    }
}

/* Between two neighbours, values below the middle round down and above it round up; the middle
 * itself rounds to the even neighbour. */
static void f16_conversion_rounds_to_nearest_even(void **state)
{
    for (uint16_t low = 0; low < 0x7c00; low++) {
        uint16_t high = (uint16_t)(low + 1);
        double next = high == 0x7c00 ? 65536 : f16_value(high);
        float middle = (float)((f16_value(low) + next) / 2); /* exact in a float */
        assert_int_equal(gw_f16_from_f32(middle), low & 1 ? high : low);
        assert_int_equal(gw_f16_from_f32(nextafterf(middle, 0)), low);
        assert_int_equal(gw_f16_from_f32(nextafterf(middle, INFINITY)), high);
        assert_int_equal(gw_f16_from_f32(-middle), (low & 1 ? high : low) | 0x8000);
    }
    assert_int_equal(gw_f16_from_f32(1e30f), 0x7c00);
    assert_int_equal(gw_f16_from_f32(-INFINITY), 0xfc00);
    assert_int_equal(gw_f16_from_f32(float_of(1)), 0); /* the smallest subnormal float */
}

static void bf16_conversion_rounds_to_nearest_even(void **state)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = gw_bf16_to_f32((uint16_t)bits);
        if (isnan(value)) {
            assert_true((bits & 0x7fff) > 0x7f80);
            assert_true(isnan(gw_bf16_to_f32(gw_bf16_from_f32(value))));
            continue;
        }
        assert_int_equal(gw_bf16_from_f32(value), bits);
        if ((bits & 0x7fff) == 0x7f80)
            continue;
        assert_int_equal(gw_bf16_from_f32(float_of(bits << 16 | 0x7fff)), bits);
        assert_int_equal(gw_bf16_from_f32(float_of(bits << 16 | 0x8000)), bits + (bits & 1));
        assert_int_equal(gw_bf16_from_f32(float_of(bits << 16 | 0x8001)), bits + 1);
    }
    /* A NaN whose set bits are all in the lower half must not become infinity. */
    assert_true(isnan(gw_bf16_to_f32(gw_bf16_from_f32(float_of(0x7f800001)))));
}

static void dtype_has_the_expected_size_and_name(void **state)
{
    static const size_t sizes[] = {4, 8, 4, 8, 2, 2, 1};
    for (int i = GW_DTYPE_F32; i <= GW_DTYPE_U8; i++)
        assert_int_equal(gw_dtype_size((enum gw_dtype)i), sizes[i - 1]);
    assert_int_equal(gw_dtype_size((enum gw_dtype)0), 0);
    assert_int_equal(gw_dtype_size((enum gw_dtype)8), 0);
    assert_string_equal(gw_dtype_name(GW_DTYPE_BF16), "bf16");
    assert_string_equal(gw_dtype_name((enum gw_dtype) - 1), "?");
}

static void rng_matches_the_published_xoshiro_sequence(void **state)
{
    /* The sequence of xoshiro256** from state 1, 2, 3, 4, as other implementations test it. */
    static const uint64_t wanted[] = {11520,
                                      0,
                                      1509978240,
                                      1215971899390074240,
                                      1216172134540287360,
                                      607988272756665600,
                                      16172922978634559625U,
                                      8476171486693032832};
    struct gw_rng rng = {.state = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_true(gw_rng_u64(&rng) == wanted[i]);

    gw_rng_init(&rng, 1234567); /* splitmix64's published numbers */
    assert_true(rng.state[0] == 6457827717110365317);
    assert_true(rng.state[1] == 3203168211198807973);
    assert_true(rng.state[2] == 9817491932198370423U);
    assert_true(rng.state[3] == 4593380528125082431);

    double sum = 0, squares = 0;
    int counts[7] = {0};
    for (int i = 0; i < 70000; i++) {
        double uniform = gw_rng_uniform(&rng), normal = gw_rng_normal(&rng);
        assert_true(uniform >= 0 && uniform < 1);
        sum += normal;
        squares += normal * normal;
        counts[gw_rng_below(&rng, 7)]++;
    }
    assert_true(fabs(sum / 70000) < 0.02 && fabs(squares / 70000 - 1) < 0.03);
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 9600, 10400);
    assert_int_equal(gw_rng_below(&rng, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_converts_to_f32_and_back_unchanged),
        cmocka_unit_test(f16_conversion_rounds_to_nearest_even),
        cmocka_unit_test(bf16_conversion_rounds_to_nearest_even),
        cmocka_unit_test(dtype_has_the_expected_size_and_name),
        cmocka_unit_test(rng_matches_the_published_xoshiro_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
