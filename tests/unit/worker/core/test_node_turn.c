/* The worker's core, short commands that queue behind another command at its supervisor. */
#include "tests/unit/worker/core/node_world.h"

/* One slot, and a kind of command of which one has ended: it was short. */
static struct world *world_with_short_command(void)
{
    struct world *w = new_world(1);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    spawned(w, 1, 0, "");
    dies(w, 1, 0, 0);
    must_send(w, GW_MESSAGE_finished);
    forget_sent(w);
    return w;
}

static void assign_all(struct world *w, uint64_t first, uint64_t last)
{
    for (uint64_t attempt = first; attempt <= last; attempt++)
        must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
}

static const struct gw_msg_spawn *spawn_sent(const struct world *w, size_t n)
{
    const struct gw_message *message = sent(w, GW_MESSAGE_spawn, n);
    assert_non_null(message);
    return &message->spawn;
}

static void must_finish(const struct world *w, size_t n, uint64_t attempt)
{
    const struct gw_message *message = sent(w, GW_MESSAGE_finished, n);
    assert_non_null(message);
    assert_int_equal(gw_col64_at(message->finished.attempt, 0), attempt);
}

static void short_commands_queue_at_the_supervisor(void **state)
{
    (void)state;
    struct world *w = world_with_short_command();
    assign_all(w, 2, 9);
    assert_int_equal(w->processes, 8); /* 9 waits here: six behind a command are enough */
    for (uint64_t i = 0; i < 7; i++) {
        assert_int_equal(spawn_sent(w, i)->process, 2 + i);
        assert_int_equal(spawn_sent(w, i)->behind, i ? 1 + i : 0);
    }
    dies(w, 2, 0, 0);
    must_finish(w, 0, 2);
    assert_int_equal(spawn_sent(w, 7)->behind, 8); /* 9, because there is a place again */
    exits(w, 3, 0, 0); /* its turn came without a message of the worker */
    assert_null(sent(w, GW_MESSAGE_finished, 1));
    reap(w, 3);
    dies(w, 4, 2, 0);
    dies(w, 5, 0, 0);
    must_finish(w, 1, 3);
    must_finish(w, 2, 5);
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.attempt, 4);
    free_world(w);
}

/* As far as the worker can estimate, no command waits for more than 6 ms. */
static void longer_commands_queue_only_up_to_six_milliseconds(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    tick(w, 19 * MS / 10);
    dies(w, 1, 0, 0);
    forget_sent(w);
    assign_all(w, 2, 9);
    assert_int_equal(w->processes, 5); /* 2 runs, 3, 4 and 5 wait for it: 1.9, 3.8 and 5.7 ms */
    assert_int_equal(spawn_sent(w, 3)->behind, 4);
    free_world(w);
}

static void command_returned_unstarted_is_queued_again(void **state)
{
    (void)state;
    struct world *w = world_with_short_command();
    assign_all(w, 2, 4);
    assert_int_equal(w->processes, 4);
    tick(w, 5 * MS); /* 2 runs for longer than they do: no more commands are sent behind it */
    spawned(w, 2, 0, "");
    spawned(w, 3, GW_EAGAIN, "not begun");
    spawned(w, 4, GW_EAGAIN, "not begun");
    assert_int_equal(w->processes, 4);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    forget_sent(w);
    dies(w, 2, 0, 0);
    assert_string_equal(spawn_sent(w, 0)->out, "/d/logs/1/3.3.out"); /* in their order */
    assert_int_equal(spawn_sent(w, 0)->behind, 0);
    assert_string_equal(spawn_sent(w, 1)->out, "/d/logs/1/4.4.out");
    assert_int_equal(spawn_sent(w, 1)->behind, 5);
    free_world(w);
}

/* The predecessor was reaped while the spawn message was on its way, so the supervisor does not
 * know it. */
static void command_whose_predecessor_is_gone_starts_at_once(void **state)
{
    (void)state;
    struct world *w = world_with_short_command();
    assign_all(w, 2, 4);
    dies(w, 2, 0, 0);
    spawned(w, 3, GW_EAGAIN, "not begun");
    assert_int_equal(w->processes, 5); /* at once: it has the slot */
    spawned(w, 4, GW_EAGAIN, "not begun");
    assert_int_equal(spawn_sent(w, 3)->process, 5);
    assert_int_equal(spawn_sent(w, 3)->behind, 0);
    assert_int_equal(spawn_sent(w, 4)->process, 6);
    assert_int_equal(spawn_sent(w, 4)->behind, 5);
    free_world(w);
}

static void cancelled_queued_command_ends_unstarted(void **state)
{
    (void)state;
    struct world *w = world_with_short_command();
    assign_all(w, 2, 4);
    kill_attempt(w, 3, GW_KILL_CANCEL);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 3);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    spawned(w, 3, GW_ECANCELLED, "not begun");
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 3);
    assert_int_equal(ended->outcome, GW_OUTCOME_KILLED);
    assert_int_equal(ended->executing, 0);
    dies(w, 2, 0, 0); /* and 4 is next */
    dies(w, 4, 0, 0);
    must_finish(w, 1, 4);
    free_world(w);
}

static void cancelled_command_that_was_returned_is_not_started_again(void **state)
{
    (void)state;
    struct world *w = world_with_short_command();
    assign_all(w, 2, 3);
    kill_attempt(w, 3, GW_KILL_CANCEL);
    spawned(w, 3, GW_EAGAIN, "not begun"); /* before it received the kill */
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.outcome, GW_OUTCOME_KILLED);
    dies(w, 2, 0, 0);
    assert_int_equal(w->processes, 3); /* no process for it */
    free_world(w);
}

/* A command that is not known to be short, or that needs more slots, is started separately. */
static void no_command_queues_behind_a_possibly_long_command(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .slots = 2});
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .number = 1});
    assign_all(w, 1, 2);
    assert_int_equal(w->processes, 1);
    spawned(w, 1, 0, "");
    dies(w, 1, 0, 0);
    assert_int_equal(w->processes, 2);
    must_assign(w, (struct task){.attempt = 3, .index = 3, .spec = 1});
    assert_int_equal(w->processes, 2);
    free_world(w);
}

/* Its descriptor is sent with the message that starts it at once. */
static void command_with_an_input_stream_is_not_queued(void **state)
{
    (void)state;
    for (uint32_t input = 0; input < 2; input++) {
        struct world *w = world_with_short_command();
        send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .number = 1});
        must_assign(w, (struct task){.attempt = 2, .index = 2, .spec = 1});
        dies(w, 2, 0, 0);
        send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND,
                                          .number = 2,
                                          .streams = input ? GW_STREAM_INPUT : GW_STREAM_HELD});
        must_assign(w, (struct task){.attempt = 3, .index = 3, .spec = 2});
        dies(w, 3, 0, 0);
        must_assign(w, (struct task){.attempt = 4, .index = 4});
        forget_sent(w);
        must_assign(w, (struct task){.attempt = 5, .index = 5, .spec = 2});
        if (input)
            assert_null(sent(w, GW_MESSAGE_spawn, 0));
        else
            assert_int_equal(spawn_sent(w, 0)->behind, 4);
        free_world(w);
    }
}

/* If the worker hears no scheduler for too long, queued commands are given up with the command
 * before them and never start. */
static void queued_commands_are_given_up_if_the_scheduler_is_silent(void **state)
{
    (void)state;
    struct world *w = world_with_short_command();
    assign_all(w, 2, 4);
    spawned(w, 2, 0, "");
    forget_sent(w);
    tick(w, GW_FENCE_NS + SECOND);
    must_send(w, GW_MESSAGE_reap);
    for (uint64_t process = 2; process <= 4; process++)
        dies(w, process, 0, 9);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    assert_null(sent(w, GW_MESSAGE_finished, 0));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_commands_queue_at_the_supervisor),
        cmocka_unit_test(longer_commands_queue_only_up_to_six_milliseconds),
        cmocka_unit_test(command_returned_unstarted_is_queued_again),
        cmocka_unit_test(command_whose_predecessor_is_gone_starts_at_once),
        cmocka_unit_test(cancelled_queued_command_ends_unstarted),
        cmocka_unit_test(cancelled_command_that_was_returned_is_not_started_again),
        cmocka_unit_test(no_command_queues_behind_a_possibly_long_command),
        cmocka_unit_test(command_with_an_input_stream_is_not_queued),
        cmocka_unit_test(queued_commands_are_given_up_if_the_scheduler_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
