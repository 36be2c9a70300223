/* Several preemptions, and changes of the policy during a preemption. */
#include "tests/unit/scheduler/lifecycle/preemption_world.h"

static void victim_goes_on_if_the_policy_is_removed(void **state)
{
    struct world *w = begin_shared(1, 2);
    struct gw_error error = {0};
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    assert_int_equal(gw_sched_policy_set(w->sched, NULL, &error), 0);
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_CONTINUE);
    set_policy(w, 0);
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE); /* it may be preempted again */
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victim_goes_on_if_the_policy_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
