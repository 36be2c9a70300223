/* The set of small numbers, against a plain array. */
#include "tests/unit/unit.h"

#include "scheduler/core/model/bits.h"

#include <stdbool.h>
#include <stdlib.h>

static uint64_t chance = 1;

static uint32_t below(uint32_t n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(chance >> 33) % n;
}

static uint32_t first_of(const bool *members, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && !members[i])
        i++;
    return i;
}

/* If near finds a member, it lies behind i and is the next member; otherwise no member is that
 * near. */
static void check_near(const struct gw_bits *bits, const bool *members, uint32_t i)
{
    const uint32_t near = gw_bits_near(bits, i), count = (i / 64 + 1) * 64;
    uint32_t next = i + 1;
    while (next < (near == i ? count : near) && !members[next])
        next++;
    assert_int_equal(next, near == i ? count : near);
    assert_true(near == i || members[near]);
}

static void bit_set_matches_an_array_after_random_operations(void **state)
{
    enum { NUMBERS = 70000 };
    bool *members = calloc(NUMBERS + 64, sizeof *members);
    struct gw_bits bits = {0};
    uint32_t count = 0, capacity = 1;
    (void)state;
    assert_non_null(members);
    for (int step = 0; step < 20000; step++) {
        if (below(50) == 0 && capacity < NUMBERS)
            capacity = capacity * 2 < NUMBERS ? capacity * 2 : NUMBERS;
        gw_bits_reserve(&bits, capacity);
        uint32_t i = below(2) ? below(capacity) : below(capacity < 200 ? capacity : 200);
        if (below(2)) {
            gw_bits_set(&bits, i);
            count += !members[i];
            members[i] = true;
        } else {
            gw_bits_clear(&bits, i);
            count -= members[i];
            members[i] = false;
        }
        assert_int_equal(bits.count, count);
        assert_int_equal(gw_bits_test(&bits, i), members[i]);
        if (count)
            assert_int_equal(gw_bits_first(&bits), first_of(members, NUMBERS));
        check_near(&bits, members, i);
    }
    assert_false(gw_bits_test(&bits, UINT32_MAX));
    gw_bits_deinit(&bits);
    free(members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bit_set_matches_an_array_after_random_operations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
