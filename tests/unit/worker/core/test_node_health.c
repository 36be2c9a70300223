/* Health checks in the worker's core: what the scheduler is told, and when. */
#include "tests/unit/worker/core/node_world.h"

static const struct gw_node_options checked = {.health_checks =
                                                   1U << GW_HEALTH_DISK | 1U << GW_HEALTH_SCRIPT};

static void check(struct world *w, uint32_t number, const char *why)
{
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_HEALTH, .number = number, .text = why});
}

/* The scheduler was told this, or nothing: NULL. */
static void assert_told(const struct world *w, const char *why)
{
    const struct gw_message *message = sent(w, GW_MESSAGE_health, 0);
    if (why)
        assert_string_equal(message ? message->health.why : "nothing", why);
    else
        assert_null(message);
}

static void failure_is_told_at_once_and_recovery_after_two_passes(void **state)
{
    struct world *w = new_world_limited(1, &checked);
    (void)state;
    check(w, GW_HEALTH_DISK, "full");
    assert_told(w, "full");
    check(w, GW_HEALTH_SCRIPT, "");
    assert_told(w, NULL);
    check(w, GW_HEALTH_DISK, "");
    assert_told(w, NULL);
    check(w, GW_HEALTH_DISK, "full again");
    assert_told(w, "full again");
    check(w, GW_HEALTH_DISK, "");
    check(w, GW_HEALTH_DISK, "");
    assert_told(w, "");
    check(w, GW_HEALTH_DISK, "");
    assert_told(w, NULL);
    free_world(w);
}

static void each_failure_is_told_because_an_admin_may_have_undrained_meanwhile(void **state)
{
    struct world *w = new_world_limited(1, &checked);
    (void)state;
    check(w, GW_HEALTH_DISK, "full");
    check(w, GW_HEALTH_DISK, "full");
    assert_told(w, "full");
    free_world(w);
}

/* The program of the admin may be another one now, and the disk another one. */
static void changed_checks_are_told_when_all_have_run_again(void **state)
{
    struct world *w = new_world_limited(1, &checked);
    (void)state;
    check(w, GW_HEALTH_DISK, "");
    check(w, GW_HEALTH_SCRIPT, "no fan");
    gw_node_core_limit(w->core, &checked);
    check(w, GW_HEALTH_DISK, "");
    assert_told(w, NULL);
    check(w, GW_HEALTH_SCRIPT, "");
    assert_told(w, "");
    check(w, GW_HEALTH_SCRIPT, "no fan");
    gw_node_core_limit(w->core, &(struct gw_node_options){.health_checks = 0});
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_TICK});
    assert_told(w, ""); /* no check fails, since none is run */
    free_world(w);
}

static void worker_is_well_only_if_all_checks_pass(void **state)
{
    struct world *w = new_world_limited(1, &checked);
    (void)state;
    check(w, GW_HEALTH_SCRIPT, "no fan");
    check(w, GW_HEALTH_DISK, "full");
    assert_told(w, "full");
    check(w, GW_HEALTH_DISK, "");
    check(w, GW_HEALTH_DISK, "");
    assert_told(w, "no fan");
    check(w, GW_HEALTH_SCRIPT, "");
    check(w, GW_HEALTH_SCRIPT, "");
    assert_told(w, "");
    free_world(w);
}

/* Otherwise a worker that was drained for its disk would get work until the first check ends. */
static void nothing_is_told_before_all_checks_have_run(void **state)
{
    struct world *w = new_world_limited(1, &checked);
    (void)state;
    assert_told(w, NULL);
    check(w, GW_HEALTH_DISK, "");
    assert_told(w, NULL);
    check(w, GW_HEALTH_SCRIPT, "");
    assert_told(w, "");
    free_world(w);
}

static void next_scheduler_is_told_after_the_registration(void **state)
{
    struct world *w = new_world_limited(1, &checked);
    (void)state;
    check(w, GW_HEALTH_DISK, "full");
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    check(w, GW_HEALTH_DISK, "still full");
    assert_told(w, NULL);
    open_scheduler(w);
    assert_told(w, "still full");
    free_world(w);
}

/* The scheduler decides which clock is wrong. */
static void clock_is_told_apart_from_other_failures(void **state)
{
    static const struct gw_node_options clock = {.health_checks =
                                                     1U << GW_HEALTH_DISK | 1U << GW_HEALTH_CLOCK};
    struct world *w = new_world_limited(1, &clock);
    (void)state;
    forget_sent(w);
    raise_event(
        w, (struct gw_event){
               .type = GW_EVENT_HEALTH, .number = GW_HEALTH_CLOCK, .text = "late", .code = -12});
    assert_told(w, "");
    assert_string_equal(sent(w, GW_MESSAGE_health, 0)->health.clock, "late");
    assert_int_equal(sent(w, GW_MESSAGE_health, 0)->health.clock_s, -12);
    check(w, GW_HEALTH_DISK, "full");
    assert_told(w, "full");
    assert_string_equal(sent(w, GW_MESSAGE_health, 0)->health.clock, "late");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_is_told_apart_from_other_failures),
        cmocka_unit_test(failure_is_told_at_once_and_recovery_after_two_passes),
        cmocka_unit_test(each_failure_is_told_because_an_admin_may_have_undrained_meanwhile),
        cmocka_unit_test(changed_checks_are_told_when_all_have_run_again),
        cmocka_unit_test(worker_is_well_only_if_all_checks_pass),
        cmocka_unit_test(nothing_is_told_before_all_checks_have_run),
        cmocka_unit_test(next_scheduler_is_told_after_the_registration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
