/* Folders that are watched: when their content counts as saved. */
#include "worker/store/sighting.h"

#include "tests/unit/unit.h"

#define SECOND UINT64_C(1000000000)

static void unchanging_folder_is_reported_once(void **state)
{
    struct gw_sighting sighting = {0};
    (void)state;
    assert_false(gw_sighting_take(&sighting, 7, 1 * SECOND)); /* the content found at the start */
    assert_false(gw_sighting_take(&sighting, 7, 2 * SECOND));
    assert_false(gw_sighting_take(&sighting, 8, 3 * SECOND));
    assert_false(gw_sighting_take(&sighting, 9, 4 * SECOND));
    assert_true(gw_sighting_take(&sighting, 9, 5 * SECOND));
    assert_false(gw_sighting_take(&sighting, 9, 90 * SECOND));
    assert_false(gw_sighting_take(&sighting, 0, 91 * SECOND)); /* an empty folder is not copied */
    assert_false(gw_sighting_take(&sighting, 0, 200 * SECOND));
}

/* Looks once a second at a folder that changes each time; returns how many looks it takes until the
 * report. */
static unsigned until_told(struct gw_sighting *sighting, uint64_t *at)
{
    for (unsigned looks = 1; looks < 1000; looks++, ++*at)
        if (gw_sighting_take(sighting, *at, *at * SECOND)) {
            ++*at;
            return looks;
        }
    return 0;
}

static void constantly_changing_folder_is_still_reported(void **state)
{
    struct gw_sighting sighting = {0};
    uint64_t at = 1;
    (void)state;
    assert_int_equal(until_told(&sighting, &at), 12); /* the first look finds the initial content */
    assert_int_equal(until_told(&sighting, &at), 21);
    assert_int_equal(until_told(&sighting, &at), 41);
    assert_int_equal(until_told(&sighting, &at), 81);
    assert_int_equal(until_told(&sighting, &at), 81);
    assert_false(gw_sighting_take(&sighting, 1, at * SECOND));
    assert_true(gw_sighting_take(&sighting, 1, (at + 1) * SECOND)); /* the folder rests */
    at += 2;
    assert_int_equal(until_told(&sighting, &at), 11);
}

/* The folder is as it was last reported, so no change waits. */
static void folder_that_changes_back_is_not_reported(void **state)
{
    struct gw_sighting sighting = {0};
    (void)state;
    assert_false(gw_sighting_take(&sighting, 5, 1 * SECOND));
    for (uint64_t at = 2; at < 60; at++)
        assert_false(gw_sighting_take(&sighting, at % 2 ? 5 : 6, at * SECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanging_folder_is_reported_once),
        cmocka_unit_test(constantly_changing_folder_is_still_reported),
        cmocka_unit_test(folder_that_changes_back_is_not_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
