/* Complaints are logged once, on change, and once a minute. */
#include "tests/unit/unit.h"
#include "worker/net/parts/complaint.h"

#define S UINT64_C(1000000000)

static void complaint_is_logged_once_a_minute_and_on_change(void **state)
{
    struct gw_complaint complaint = {0};
    uint32_t times;
    (void)state;
    assert_true(gw_complaint_is_due(&complaint, "refused", 5 * S, &times));
    assert_int_equal(times, 1);
    for (uint64_t i = 6; i < 65; i++)
        assert_false(gw_complaint_is_due(&complaint, "refused", i * S, &times));
    assert_true(gw_complaint_is_due(&complaint, "refused", 65 * S, &times));
    assert_int_equal(times, 60);
    assert_false(gw_complaint_is_due(&complaint, "refused", 66 * S, &times));
    assert_true(gw_complaint_is_due(&complaint, "no route", 67 * S, &times));
    assert_int_equal(times, 1);
    assert_true(gw_complaint_is_due(&complaint, "refused", 68 * S, &times));
    complaint = (struct gw_complaint){0}; /* a success in between */
    assert_true(gw_complaint_is_due(&complaint, "refused", 69 * S, &times));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complaint_is_logged_once_a_minute_and_on_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
