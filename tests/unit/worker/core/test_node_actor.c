/* The worker's core, calls of an actor: they run in order, even if inputs arrive late, and never in
 * another incarnation of the actor. */
#include "tests/unit/worker/core/node_world.h"

enum { ACTOR = 1, CALLS = 2, OTHER = 3 }; /* jobs */

/* Attempt `attempt` creates the actor in runner `process`. */
static void live(struct world *w, uint64_t attempt, uint64_t process)
{
    must_assign(w, (struct task){.attempt = attempt, .job = ACTOR});
    spawned(w, process, 0, "");
    hello(w, process, GW_PROTOCOL);
    deliver(w, RUNNER + process,
            (struct gw_message){.type = GW_MESSAGE_actor_ready, .actor_ready = {attempt}});
    must_send(w, GW_MESSAGE_actor_ready);
}

static struct world *with_actor(void)
{
    struct world *w = new_world(2);
    function_spec(w, (struct gw_msg_spec){.key = ACTOR, .actor = GW_ACTOR_NEW});
    function_spec(w, (struct gw_msg_spec){.key = CALLS, .actor = ACTOR});
    live(w, 1, 1);
    forget_sent(w);
    return w;
}

/* Attempt 2, whose input is being fetched, and attempt 3, which takes nothing. */
static uint64_t two_calls(struct world *w)
{
    const struct dep late = {.job = OTHER};
    must_assign(w, (struct task){.attempt = 2, .index = 0, .job = CALLS, .dep = &late});
    uint64_t request = must_send(w, GW_MESSAGE_fetch)->fetch.request;
    must_assign(w, (struct task){.attempt = 3, .index = 1, .job = CALLS});
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    forget_sent(w);
    return request;
}

static void arrives(struct world *w, uint64_t request)
{
    struct gw_message object = {.type = GW_MESSAGE_object};
    object.object = (struct gw_msg_object){.request = request, .bytes = 1, .value = bin("\x09", 1)};
    deliver(w, SCHEDULER, object);
}

static void actor_calls_run_in_order_despite_late_inputs(void **state)
{
    struct world *w = with_actor();
    (void)state;
    arrives(w, two_calls(w));
    uint64_t first = gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0);
    assert_int_equal(first, 2);
    free_world(w);
}

static void must_come_back(struct world *w, size_t n, uint64_t attempt)
{
    const struct gw_message *ended = sent(w, GW_MESSAGE_ended, n);
    assert_non_null(ended);
    assert_int_equal(ended->ended.attempt, attempt);
    assert_int_equal(ended->ended.outcome, GW_OUTCOME_KILLED);
    assert_int_equal(ended->ended.executing, 0);
}

/* Attempt 3 was returned when the actor died: attempt 2 must not run before it in the restarted
 * actor. */
static void actor_call_does_not_run_in_a_later_incarnation(void **state)
{
    struct world *w = with_actor();
    (void)state;
    uint64_t request = two_calls(w);
    dies(w, 1, 0, 9);
    assert_int_equal(sent(w, GW_MESSAGE_ended, 0)->ended.attempt, 1);
    must_come_back(w, 1, 3);
    must_come_back(w, 2, 2);
    forget_sent(w);
    live(w, 4, 2);
    forget_sent(w);
    arrives(w, request);
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    free_world(w);
}

/* The call was sent before the actor died, and its input is not here. */
static void call_to_a_dead_actor_is_returned(void **state)
{
    struct world *w = with_actor();
    const struct dep late = {.job = OTHER};
    (void)state;
    dies(w, 1, 0, 9);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 0, .job = CALLS, .dep = &late});
    must_come_back(w, 0, 2);
    assert_null(sent(w, GW_MESSAGE_fetch, 0));
    free_world(w);
}

/* -- Behind one that takes long ------------------------------------------------------------------
 */

/* Attempt 2 runs, and 3 is queued behind it in its runner. */
static struct world *with_two_in_runner(void)
{
    struct world *w = with_actor();
    must_assign(w, (struct task){.attempt = 2, .index = 0, .job = CALLS});
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 1, 1), 0); /* the calls are short */
    must_assign(w, (struct task){.attempt = 3, .index = 1, .job = CALLS});
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 4, .index = 2, .job = CALLS});
    must_send(w, GW_MESSAGE_assign);
    forget_sent(w);
    return w;
}

static void says(struct world *w, uint64_t attempt, uint8_t blocked)
{
    struct gw_message message = {.type = GW_MESSAGE_task_blocked};
    message.task_blocked =
        (struct gw_msg_task_blocked){.attempt = attempt, .rank = GW_RANK_NONE, .blocked = blocked};
    deliver(w, RUNNER + 1, message);
}

/* The call is taken back, and is sent again only when its predecessor has ended. */
static void behind(uint8_t blocked)
{
    struct world *w = with_two_in_runner();
    says(w, 3, blocked);
    must_send(w, GW_MESSAGE_task_taken);
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    forget_sent(w);
    assert_int_equal(finish(w, 1, 3, GW_RANK_NONE, 1, 1), 0);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), 4);
    free_world(w);
}

static void actor_call_runs_after_a_waiting_earlier_call(void **state)
{
    (void)state;
    behind(1);
}

static void actor_call_runs_after_a_long_earlier_call(void **state)
{
    (void)state;
    behind(GW_BLOCKED_LONG);
}

static void cancelled_actor_call_ends_behind_a_long_call(void **state)
{
    struct world *w = with_two_in_runner();
    (void)state;
    kill_attempt(w, 4, GW_KILL_CANCEL); /* its runner may have started it */
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    says(w, 3, GW_BLOCKED_LONG);
    must_come_back(w, 0, 4);
    must_assign(w, (struct task){.attempt = 5, .index = 3, .job = CALLS});
    kill_attempt(w, 5, GW_KILL_CANCEL);
    must_come_back(w, 1, 5);
    assert_int_equal(finish(w, 1, 3, GW_RANK_NONE, 1, 1), 0);
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    free_world(w);
}

static void started_actor_call_runs_to_its_end_despite_cancel(void **state)
{
    struct world *w = with_two_in_runner();
    (void)state;
    kill_attempt(w, 4, GW_KILL_CANCEL);
    assert_int_equal(finish(w, 1, 3, GW_RANK_NONE, 1, 1), 0);
    says(w, 4, GW_BLOCKED_LONG);
    kill_attempt(w, 4, GW_KILL_CANCEL);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    assert_int_equal(finish(w, 1, 4, GW_RANK_NONE, 1, 1), 0);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actor_calls_run_in_order_despite_late_inputs),
        cmocka_unit_test(actor_call_does_not_run_in_a_later_incarnation),
        cmocka_unit_test(call_to_a_dead_actor_is_returned),
        cmocka_unit_test(actor_call_runs_after_a_waiting_earlier_call),
        cmocka_unit_test(actor_call_runs_after_a_long_earlier_call),
        cmocka_unit_test(cancelled_actor_call_ends_behind_a_long_call),
        cmocka_unit_test(started_actor_call_runs_to_its_end_despite_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
