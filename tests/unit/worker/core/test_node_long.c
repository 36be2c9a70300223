/* The worker's core, tasks behind a long task: they go to any runner that can start them. */
#include "tests/unit/worker/core/node_world.h"

static void say_long(struct world *w, uint64_t process, uint64_t attempt)
{
    deliver(w, RUNNER + process,
            (struct gw_message){.type = GW_MESSAGE_task_blocked,
                                .task_blocked = {.attempt = attempt,
                                                 .rank = GW_RANK_NONE,
                                                 .blocked = GW_BLOCKED_LONG}});
}

/* The attempts of an assign message to a runner, as a number: 45 for 4 and 5. */
static uint64_t assigned_to(const struct world *w, uint64_t process)
{
    uint64_t digits = 0;
    for (size_t i = 0; i < w->sent.count; i++) {
        const struct gw_message *message = &w->sent.items[i];
        if (message->type != GW_MESSAGE_assign || w->sent_to.items[i] != RUNNER + process)
            continue;
        for (uint32_t k = 0; k < message->assign.attempt.count; k++)
            digits = digits * 10 + gw_col64_at(message->assign.attempt, k);
    }
    return digits;
}

/* Tasks that wait in a runner behind a long task go to another runner, which starts for them,
 * and do not return. */
static void tasks_behind_a_long_task_move_to_another_runner(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0); /* so these tasks are short */
    forget_sent(w);
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
    assert_int_equal(assigned_to(w, 1), 234);
    assert_int_equal(w->processes, 1);
    forget_sent(w);
    say_long(w, 1, 2);
    assert_int_equal(must_send(w, GW_MESSAGE_task_taken)->task_taken.attempt, 2);
    assert_int_equal(w->processes, 2);
    spawned(w, 2, 0, "");
    hello(w, 2, GW_PROTOCOL);
    assert_int_equal(assigned_to(w, 2), 34);
    must_assign(w, (struct task){.attempt = 5, .index = 5});
    assert_int_equal(assigned_to(w, 2), 345);
    assert_int_equal(assigned_to(w, 1), 0);
    for (uint64_t attempt = 3; attempt < 6; attempt++)
        assert_int_equal(finish(w, 2, attempt, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 0, 1000), 0);
    must_assign(w, (struct task){.attempt = 6, .index = 6}); /* both may get work again */
    must_assign(w, (struct task){.attempt = 7, .index = 7});
    assert_true(assigned_to(w, 1) > 0);
    free_world(w);
}

/* If no other runner can start them, they wait in the worker, may be taken back, and go to the
 * runner when the long task has ended. */
static void tasks_behind_a_long_task_wait_if_there_is_no_slot(void **state)
{
    struct world *w = new_world(1);
    (void)state;
    function_spec(w, (struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 1});
    hello(w, 1, GW_PROTOCOL);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
    forget_sent(w);
    say_long(w, 1, 2);
    assert_int_equal(must_send(w, GW_MESSAGE_task_taken)->task_taken.attempt, 2);
    assert_int_equal(assigned_to(w, 1), 0);
    kill_attempt(w, 3, GW_KILL_TAKE_BACK); /* another worker starts it */
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.attempt, 3);
    forget_sent(w);
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(assigned_to(w, 1), 4);
    free_world(w);
}

/* A task that is being ended and takes its time does not delay other tasks either. */
static void tasks_behind_a_task_being_ended_move_to_another_runner(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
    kill_attempt(w, 2, GW_KILL_CANCEL);
    forget_sent(w);
    say_long(w, 1, 2);
    assert_int_equal(must_send(w, GW_MESSAGE_task_taken)->task_taken.attempt, 2);
    assert_int_equal(w->processes, 2);
    spawned(w, 2, 0, "");
    hello(w, 2, GW_PROTOCOL);
    assert_int_equal(assigned_to(w, 2), 34);
    free_world(w);
}

static void long_task_without_followers_changes_nothing(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    forget_sent(w);
    say_long(w, 1, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_task_taken)->task_taken.attempt, 0);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_behind_a_long_task_move_to_another_runner),
        cmocka_unit_test(tasks_behind_a_long_task_wait_if_there_is_no_slot),
        cmocka_unit_test(tasks_behind_a_task_being_ended_move_to_another_runner),
        cmocka_unit_test(long_task_without_followers_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
