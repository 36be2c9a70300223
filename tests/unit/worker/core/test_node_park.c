/* Parked runners: other tasks use their slots while they are idle, and they are reused. */
#include "tests/unit/worker/core/node_world.h"

#include <gangway/options.h>

/* Specs that differ only in their slots: number 0 has one, 1 two and 2 three. */
static struct world *shapes_world(uint32_t slots)
{
    struct world *w = new_world(slots);
    for (uint32_t i = 0; i < 3; i++)
        function_spec(w, (struct gw_msg_spec){.number = i, .slots = i + 1});
    return w;
}

/* Runs a task of a spec in a process, which is new if `first`. */
static void run_one(struct world *w, uint64_t attempt, uint32_t spec, uint64_t process, bool first)
{
    forget_sent(w);
    must_assign(w, (struct task){.attempt = attempt, .spec = spec});
    if (first) {
        assert_int_equal(must_send(w, GW_MESSAGE_spawn)->spawn.process, process);
        hello(w, process, GW_PROTOCOL);
    } else {
        assert_null(sent(w, GW_MESSAGE_spawn, 0));
    }
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), attempt);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    assert_int_equal(finish(w, process, attempt, GW_RANK_NONE, 0, 1000), 0);
}

static void alternating_resource_classes_start_only_two_runners(void **state)
{
    struct world *w = shapes_world(2);
    uint64_t attempt = 0;
    (void)state;
    run_one(w, ++attempt, 0, 1, true);
    run_one(w, ++attempt, 1, 2, true);
    for (int i = 0; i < 5; i++) {
        run_one(w, ++attempt, 0, 1, false);
        run_one(w, ++attempt, 1, 2, false);
    }
    assert_int_equal(w->processes, 2);
    free_world(w);
}

/* The running task has the slots, and the waiting task is first in line for them. */
static void parked_runner_gets_work_when_slots_are_free(void **state)
{
    struct world *w = shapes_world(2);
    (void)state;
    run_one(w, 1, 0, 1, true);
    run_one(w, 2, 1, 2, true); /* parks the first runner */
    must_assign(w, (struct task){.attempt = 3, .spec = 1});
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 4});
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    assert_int_equal(finish(w, 2, 3, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), 4);
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    free_world(w);
}

static void idle_runners_without_slots_are_limited_to_the_slot_count(void **state)
{
    struct world *w = new_world(1);
    (void)state;
    function_spec(w, (struct gw_msg_spec){0});
    function_spec(w, (struct gw_msg_spec){.number = 1, .cwd = "/elsewhere"});
    function_spec(w, (struct gw_msg_spec){.number = 2, .cwd = "/anywhere"});
    run_one(w, 1, 0, 1, true);
    tick(w, SECOND);
    run_one(w, 2, 1, 2, true);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 3, .spec = 2});
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process,
                     1); /* the runner that was idle longest */
    assert_null(sent(w, GW_MESSAGE_reap, 1));
    assert_int_equal(must_send(w, GW_MESSAGE_spawn)->spawn.process, 3); /* at once */
    dies(w, 1, 0, 15);
    free_world(w);
}

/* A parked runner occupies no slots, so none become free. */
static void death_of_an_idle_runner_without_slots_frees_no_slots(void **state)
{
    struct world *w = shapes_world(2);
    (void)state;
    run_one(w, 1, 0, 1, true);
    run_one(w, 2, 1, 2, true);
    must_assign(w, (struct task){.attempt = 3, .spec = 1});
    forget_sent(w);
    dies(w, 1, 0, 9);
    must_assign(w, (struct task){.attempt = 4});
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    assert_int_equal(finish(w, 2, 3, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(must_send(w, GW_MESSAGE_spawn)->spawn.process, 3);
    free_world(w);
}

static void unused_runners_without_slots_end_after_a_minute(void **state)
{
    struct world *w = shapes_world(2);
    (void)state;
    run_one(w, 1, 0, 1, true);
    run_one(w, 2, 1, 2, true);
    forget_sent(w);
    tick(w, 61 * SECOND);
    assert_non_null(sent(w, GW_MESSAGE_reap, 1));
    free_world(w);
}

/* A task without slots waits neither for slots nor behind another task, also if it is short. */
static void task_without_slots_starts_in_a_runner_of_its_own(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    function_spec(w, (struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 1});
    must_assign(w, (struct task){.attempt = 2, .index = 1});
    assert_int_equal(w->processes, 1);
    function_spec(w, (struct gw_msg_spec){.number = 1, .slots = GW_NONE});
    must_assign(w, (struct task){.attempt = 3, .index = 2, .spec = 1});
    assert_int_equal(w->processes, 2);
    spawned(w, 2, 0, "");
    hello(w, 2, GW_PROTOCOL);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), 3);
    finish(w, 2, 3, GW_RANK_NONE, 0, 1000);
    must_assign(w, (struct task){.attempt = 4, .index = 3, .spec = 1});
    assert_int_equal(w->processes, 2); /* the runner is used again */
    must_assign(w, (struct task){.attempt = 5, .index = 4, .spec = 1});
    assert_int_equal(w->processes, 3);
    free_world(w);
}

static void command_without_slots_starts_before_one_that_waits(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    must_assign(w, (struct task){.attempt = 1});
    must_assign(w, (struct task){.attempt = 2, .index = 1});
    assert_int_equal(w->processes, 1);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .number = 1, .slots = GW_NONE});
    must_assign(w, (struct task){.attempt = 3, .index = 2, .spec = 1});
    assert_int_equal(w->processes, 2);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alternating_resource_classes_start_only_two_runners),
        cmocka_unit_test(parked_runner_gets_work_when_slots_are_free),
        cmocka_unit_test(idle_runners_without_slots_are_limited_to_the_slot_count),
        cmocka_unit_test(death_of_an_idle_runner_without_slots_frees_no_slots),
        cmocka_unit_test(unused_runners_without_slots_end_after_a_minute),
        cmocka_unit_test(task_without_slots_starts_in_a_runner_of_its_own),
        cmocka_unit_test(command_without_slots_starts_before_one_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
