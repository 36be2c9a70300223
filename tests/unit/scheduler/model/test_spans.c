/* The set of numbers in runs, against a plain array. */
#include "tests/unit/unit.h"

#include "scheduler/core/model/spans.h"

#include <stdbool.h>

enum { NUMBERS = 60 };

static uint64_t chance = 1;

static uint32_t below(uint32_t n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(chance >> 33) % n;
}

static uint32_t runs_of(const bool *members)
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < NUMBERS; i++)
        runs += members[i] && (i == 0 || !members[i - 1]);
    return runs;
}

static void span_set_matches_an_array_after_random_operations(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        bool members[NUMBERS] = {false};
        struct gw_spans spans = {0};
        for (int step = 0; step < 100; step++) {
            uint32_t n = below(NUMBERS), runs = runs_of(members);
            bool joins =
                members[n] || (n > 0 && members[n - 1]) || (n + 1 < NUMBERS && members[n + 1]);
            assert_int_equal(gw_spans_fits(&spans, n, runs), joins);
            assert_true(gw_spans_fits(&spans, n, runs + 1));
            gw_spans_add(&spans, n);
            members[n] = true;
            if (below(40) == 0) {
                uint32_t end = below(NUMBERS);
                gw_spans_drop(&spans, end);
                for (uint32_t i = 0; i < end; i++)
                    members[i] = false;
            }
            assert_int_equal(spans.runs.count, runs_of(members));
            for (uint32_t i = 0; i < NUMBERS; i++)
                assert_int_equal(gw_spans_has(&spans, i), members[i]);
        }
        gw_spans_deinit(&spans);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(span_set_matches_an_array_after_random_operations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
