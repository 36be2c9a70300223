/* The worker's core, tasks that wait for the results of other tasks here: values pass from task to
 * task, in one batch if possible, and no task runs without its input. */
#include "tests/unit/worker/core/node_world.h"

static void assign_successor(struct world *w, uint64_t attempt, uint64_t maker)
{
    const struct dep dep = {
        .job = 1, .index = (uint32_t)maker, .worker = GW_DEP_HERE, .maker = maker};
    must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt, .dep = &dep});
}

/* Runner 2 has said hello and knows that its tasks are short; attempts 2, 3 and 4 are a chain, and
 * were sent to it in one batch. */
static struct world *world_with_chain(void)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    dies(w, 1, 0, 9);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    assign_successor(w, 3, 2);
    assign_successor(w, 4, 3);
    spawned(w, 2, 0, "");
    hello(w, 2, GW_PROTOCOL);
    return w;
}

static void must_end(struct world *w, size_t n, uint64_t attempt, uint32_t outcome,
                     uint32_t executing)
{
    const struct gw_message *ended = sent(w, GW_MESSAGE_ended, n);
    assert_non_null(ended);
    assert_int_equal(ended->ended.attempt, attempt);
    assert_int_equal(ended->ended.outcome, outcome);
    assert_int_equal(ended->ended.executing, executing);
}

static void chain_is_sent_to_the_runner_in_a_single_message(void **state)
{
    (void)state;
    struct world *w = world_with_chain();
    const struct gw_msg_assign *given = &must_send(w, GW_MESSAGE_assign)->assign;
    assert_int_equal(given->attempt.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(gw_col64_at(given->attempt, i), 2 + i);
    for (uint32_t i = 0; i < 2; i++) { /* each takes the result of the row before it */
        assert_int_equal(gw_col32_at(given->dep_worker, i), GW_DEP_HERE);
        assert_int_equal(gw_col64_at(given->dep_bytes, i), i);
        assert_int_equal(gw_col32_at(given->dep_value_size, i), 0);
    }
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        assert_int_equal(finish(w, 2, attempt, GW_RANK_NONE, 0, 1000), 0);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    assert_non_null(sent(w, GW_MESSAGE_finished, 2));
    free_world(w);
}

static void fails(struct world *w, uint64_t process, uint64_t attempt)
{
    struct gw_message ended = {.type = GW_MESSAGE_ended};
    ended.ended = (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_FAILED,
                                        .code = GW_ETASK,
                                        .executing = 1};
    deliver(w, RUNNER + process, ended);
}

/* A runner of protocol 6 reports that it skipped a row. */
static void runner_of_protocol_6_may_report_skipped_tasks(void **state)
{
    (void)state;
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    dies(w, 1, 0, 9);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    assign_successor(w, 3, 2);
    spawned(w, 2, 0, "");
    hello(w, 2, GW_PROTOCOL - 1);
    assert_int_equal(must_send(w, GW_MESSAGE_assign)->assign.attempt.count, 2);
    forget_sent(w);
    fails(w, 2, 2);
    must_end(w, 0, 2, GW_OUTCOME_FAILED, 1);
    must_end(w, 1, 3, GW_OUTCOME_KILLED, 0);
    const struct gw_message skipped = {.type = GW_MESSAGE_skipped, .skipped = {3}};
    assert_int_equal(deliver_with(w, RUNNER + 2, skipped, NULL, 0), 0);
    must_assign(w, (struct task){.attempt = 4, .index = 4});
    assert_int_equal(finish(w, 2, 4, GW_RANK_NONE, 0, 1000), 0);
    free_world(w);
}

static void successor_gets_a_large_value_by_descriptor(void **state)
{
    (void)state;
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    assign_successor(w, 2, 1); /* attempt 1 is at the runner already */
    forget_sent(w);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 10000, 1000), 0);
    const struct gw_msg_assign *given = &must_send(w, GW_MESSAGE_assign)->assign;
    assert_int_equal(gw_col64_at(given->attempt, 0), 2);
    assert_int_equal(gw_col64_at(given->dep_bytes, 0), 10000);
    assert_int_equal(gw_col32_at(given->dep_value_size, 0), 0); /* a descriptor */
    free_world(w);
}

static void successor_of_an_ended_task_fetches_its_input(void **state)
{
    (void)state;
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    forget_sent(w);
    assign_successor(w, 2, 1); /* the value went to the scheduler, so the scheduler is asked */
    const struct gw_message *fetch = must_send(w, GW_MESSAGE_fetch);
    assert_int_equal(fetch->fetch.index, 1);
    struct gw_message object = {.type = GW_MESSAGE_object};
    object.object = (struct gw_msg_object){
        .request = fetch->fetch.request, .bytes = 1, .value = bin("\x09", 1)};
    forget_sent(w);
    deliver(w, SCHEDULER, object);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), 2);
    free_world(w);
}

static void failure_returns_the_successors_and_spares_other_tasks(void **state)
{
    (void)state;
    struct world *w = world_with_chain();
    must_assign(w, (struct task){.attempt = 5, .index = 5});
    forget_sent(w);
    fails(w, 2, 2); /* the runner skips 3 and 4, and continues with 5 */
    must_end(w, 0, 2, GW_OUTCOME_FAILED, 1);
    must_end(w, 1, 3, GW_OUTCOME_KILLED, 0);
    must_end(w, 2, 4, GW_OUTCOME_KILLED, 0);
    assert_int_equal(finish(w, 2, 5, GW_RANK_NONE, 0, 1000), 0);
    free_world(w);
}

static int fail_alike(struct world *w, uint64_t process, const uint64_t *attempts, uint32_t count)
{
    static const uint64_t run_ns[4];
    struct gw_message message = {.type = GW_MESSAGE_failures};
    message.failures = (struct gw_msg_failures){.code = GW_ETASK,
                                                .text = "no such file",
                                                .stderr_tail = "",
                                                .attempt = {attempts, count},
                                                .run_ns = {run_ns, count}};
    return deliver_with(w, RUNNER + process, message, NULL, 0);
}

static void must_fail_alike(struct world *w, size_t n, const uint64_t *attempts, uint32_t count)
{
    const struct gw_message *told = sent(w, GW_MESSAGE_failures, n);
    assert_non_null(told);
    assert_int_equal(told->failures.code, GW_ETASK);
    assert_string_equal(told->failures.text, "no such file");
    assert_int_equal(told->failures.attempt.count, count);
    assert_int_equal(told->failures.run_ns.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(gw_col64_at(told->failures.attempt, i), attempts[i]);
}

/* Equal failures are reported in one message; but successors of a failed task are returned right
 * after it, before the next failure. */
static void equal_failures_are_sent_in_one_message_after_the_successors(void **state)
{
    (void)state;
    struct world *w = world_with_chain();
    for (uint32_t i = 5; i < 9; i++)
        must_assign(w, (struct task){.attempt = i, .index = i});
    forget_sent(w);
    assert_int_equal(fail_alike(w, 2, (const uint64_t[]){2, 5, 6}, 3), 0);
    must_fail_alike(w, 0, (const uint64_t[]){2}, 1);
    must_end(w, 0, 3, GW_OUTCOME_KILLED, 0);
    must_end(w, 1, 4, GW_OUTCOME_KILLED, 0);
    must_fail_alike(w, 1, (const uint64_t[]){5, 6}, 2);
    assert_null(sent(w, GW_MESSAGE_failures, 2));
    forget_sent(w);
    assert_int_equal(fail_alike(w, 2, (const uint64_t[]){7, 9}, 2), GW_EPROTO); /* 8 is next */
    must_fail_alike(w, 0, (const uint64_t[]){7}, 1);
    free_world(w);
}

static void crash_counts_for_the_running_task_and_returns_successors(void **state)
{
    (void)state;
    struct world *w = world_with_chain();
    assert_int_equal(finish(w, 2, 2, GW_RANK_NONE, 0, 1000), 0);
    forget_sent(w);
    dies(w, 2, 0, 11); /* while 3 ran: it counts, 4 is returned, and 2 stays finished */
    must_end(w, 0, 3, GW_OUTCOME_CRASHED, 1);
    must_end(w, 1, 4, GW_OUTCOME_KILLED, 0);
    assert_null(sent(w, GW_MESSAGE_ended, 2));
    free_world(w);
}

/* The runner crashed in task 3. Task 2, whose end was not reported, is cancelled before the
 * crash is decided. */
static void task_cancelled_after_a_runner_crash_ends_as_killed(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        must_assign(w, (struct task){.attempt = attempt});
    forget_sent(w);
    deliver(w, SUPERVISOR,
            (struct gw_message){.type = GW_MESSAGE_exited,
                                .exited = {.process = 1, .signal = 11, .executing = 3}});
    kill_attempt(w, 2, GW_KILL_CANCEL);
    assert_null(sent(w, GW_MESSAGE_ended, 0)); /* its runner may still have reported it */
    reap(w, 1);
    runner_closes(w, 1);
    for (size_t i = 0; i < 2; i++) {
        const struct gw_message *ended = sent(w, GW_MESSAGE_ended, i);
        assert_non_null(ended);
        assert_int_equal(ended->ended.outcome,
                         ended->ended.attempt == 2 ? GW_OUTCOME_KILLED : GW_OUTCOME_CRASHED);
        assert_true(ended->ended.attempt == 2 || ended->ended.attempt == 3);
    }
    forget_sent(w);
    hello(w, 2, GW_PROTOCOL);
    const struct gw_msg_assign *given = &must_send(w, GW_MESSAGE_assign)->assign;
    assert_int_equal(given->attempt.count, 1);
    assert_int_equal(gw_col64_at(given->attempt, 0), 4);
    free_world(w);
}

/* Task 3 is cancelled in its runner's queue, and then task 2 fails, which was to make its input. */
static void cancelled_successor_of_a_failed_task_is_returned_once(void **state)
{
    (void)state;
    struct world *w = world_with_chain();
    kill_attempt(w, 3, GW_KILL_CANCEL);
    forget_sent(w);
    fails(w, 2, 2);
    must_end(w, 0, 2, GW_OUTCOME_FAILED, 1);
    must_end(w, 1, 3, GW_OUTCOME_KILLED, 0);
    must_end(w, 2, 4, GW_OUTCOME_KILLED, 0);
    assert_null(sent(w, GW_MESSAGE_ended, 3));
    free_world(w);
}

static void cancelled_task_takes_its_successor_along(void **state)
{
    (void)state;
    struct world *w = world_with_chain();
    assert_int_equal(finish(w, 2, 2, GW_RANK_NONE, 0, 1000), 0);
    kill_attempt(w, 3, GW_KILL_CANCEL); /* and with it the task that takes its value */
    forget_sent(w);
    dies(w, 2, 0, 15);
    must_end(w, 0, 3, GW_OUTCOME_KILLED, 1);
    must_end(w, 1, 4, GW_OUTCOME_KILLED, 0);
    free_world(w);
}

static void taking_back_a_task_returns_its_successor(void **state)
{
    (void)state;
    struct world *w = world_with_runner((struct gw_msg_spec){0}); /* it executes 1 */
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    assign_successor(w, 3, 2);
    forget_sent(w);
    kill_attempt(w, 2, GW_KILL_TAKE_BACK);
    must_end(w, 0, 2, GW_OUTCOME_KILLED, 0);
    must_end(w, 1, 3, GW_OUTCOME_KILLED, 0);
    free_world(w);
}

/* Commands precede and succeed each other as functions do; each command has its own process. */
static void successor_command_starts_after_its_predecessor(void **state)
{
    (void)state;
    for (int exit_code = 0; exit_code < 2; exit_code++) {
        struct world *w = new_world(1);
        send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
        must_assign(w, (struct task){.attempt = 1, .index = 1});
        assign_successor(w, 2, 1);
        spawned(w, 1, 0, "");
        assert_int_equal(w->processes, 1);
        forget_sent(w);
        dies(w, 1, exit_code, 0);
        assert_int_equal(w->processes, exit_code ? 1 : 2);
        if (exit_code) {
            must_end(w, 0, 1, GW_OUTCOME_FAILED, 1);
            must_end(w, 1, 2, GW_OUTCOME_KILLED, 0);
        } else {
            assert_string_equal(must_send(w, GW_MESSAGE_spawn)->spawn.out, "/d/logs/1/2.2.out");
            dies(w, 2, 0, 0);
            assert_non_null(sent(w, GW_MESSAGE_finished, 1));
        }
        free_world(w);
    }
}

/* If the value is used here and much work is in hand, the end is reported lazily, because
 * nothing at the scheduler waits for it. */
static void end_of_a_predecessor_is_reported_lazily_under_load(void **state)
{
    (void)state;
    for (uint64_t others = 8; others <= 64; others += 56) {
        struct world *w = world_with_runner((struct gw_msg_spec){0});
        for (uint64_t i = 0; i < others; i++)
            must_assign(w, (struct task){.attempt = 100 + i, .index = (uint32_t)(100 + i)});
        assign_successor(w, 2, 1);
        forget_sent(w);
        assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
        must_send(w, GW_MESSAGE_finished);
        assert_int_equal(w->lazy, others > 32);
        assert_int_equal(finish(w, 1, 100, GW_RANK_NONE, 0, 1000), 0);
        assert_int_equal(w->lazy, others > 32); /* no task here takes it: it is reported at once */
        free_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_is_sent_to_the_runner_in_a_single_message),
        cmocka_unit_test(successor_gets_a_large_value_by_descriptor),
        cmocka_unit_test(successor_of_an_ended_task_fetches_its_input),
        cmocka_unit_test(failure_returns_the_successors_and_spares_other_tasks),
        cmocka_unit_test(equal_failures_are_sent_in_one_message_after_the_successors),
        cmocka_unit_test(crash_counts_for_the_running_task_and_returns_successors),
        cmocka_unit_test(cancelled_task_takes_its_successor_along),
        cmocka_unit_test(taking_back_a_task_returns_its_successor),
        cmocka_unit_test(successor_command_starts_after_its_predecessor),
        cmocka_unit_test(end_of_a_predecessor_is_reported_lazily_under_load),
        cmocka_unit_test(runner_of_protocol_6_may_report_skipped_tasks),
        cmocka_unit_test(cancelled_successor_of_a_failed_task_is_returned_once),
        cmocka_unit_test(task_cancelled_after_a_runner_crash_ends_as_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
