/* Pure tasks: which of them share a result, and the shared original if a task is cancelled. */
#include "tests/unit/scheduler/sched_life.h"

/* Two jobs of one pure task each; the second shares the result of the first. Returns the attempt.
 */
static uint64_t submit_twins(struct world *w)
{
    add_worker(w, 0, 4, "a");
    submit_task(w, 1, (struct gw_msg_spec){.pure = 1});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.pure = 1});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    return attempt;
}

static void cancel(struct world *w, uint64_t job)
{
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {9, job, 0, GW_CANCEL_HARD}});
}

/* Job 1 is reported as cancelled; the original continues for the other job, which gets the result.
 */
static void goes_on_for(struct world *w, uint64_t request, uint64_t attempt)
{
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_int_equal(failed->request, 1);
    assert_int_equal(failed->code, GW_ECANCELLED);
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 1));
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
    finish(w, 0, attempt, GW_RANK_NONE, 8);
    const struct gw_msg_done *done = &must(w, CLIENT, GW_MESSAGE_done)->done;
    assert_int_equal(done->request.count, 1);
    assert_int_equal(gw_col64_at(done->request, 0), request);
}

static void cancelling_a_pure_task_leaves_an_equal_task_running(void **state)
{
    struct world *w = new_world();
    (void)state;
    uint64_t attempt = submit_twins(w);
    cancel(w, 1);
    goes_on_for(w, 2, attempt);
    free_world(w);
}

/* Seed 3276 of 6abf340: a failed task is shared with no later task, but still with the twin that
 * shared it before. */
static void cancelling_leaves_a_retried_equal_task_running(void **state)
{
    struct world *w = new_world();
    (void)state;
    uint64_t attempt = submit_twins(w);
    fail_attempt(w, 0, attempt);
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_retry, .retry = {8, 2, 0}});
    attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    cancel(w, 1);
    goes_on_for(w, 2, attempt);
    free_world(w);
}

/* All specs of a list differ from the first in one property: each runs separately, and the first,
 * submitted again, shares its own result. */
static void run_apart(const struct gw_msg_spec *specs, uint64_t count)
{
    struct world *w = new_world();
    add_worker(w, 0, 16, "a");
    for (uint64_t i = 0; i < count; i++) {
        submit_task(w, i + 1, specs[i]);
        must(w, WORKER, GW_MESSAGE_assign);
    }
    for (uint64_t i = 0; i < count; i++) {
        submit_task(w, count + i + 1, specs[i]);
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    }
    free_world(w);
}

/* A result that no task needs is stored, and shared, up to the limit: its 8 bytes and 64 of its
 * own.
 */
static void limit_of_stored_results_can_be_changed(void **state)
{
    (void)state;
    uint64_t job = 1;
    uint32_t zero = 0;
    for (uint64_t bytes_max = 72; bytes_max >= 71; bytes_max--) {
        struct world *w = new_world();
        add_worker(w, 0, 1, "a");
        gw_sched_term_limit(w->sched, &(struct gw_sched_limits){.pure_bytes_max = bytes_max});
        submit_task(w, 1, (struct gw_msg_spec){.pure = 1});
        finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 8);
        say(w, CLIENT,
            (struct gw_message){.type = GW_MESSAGE_release,
                                .release = {{&job, 1}, {&zero, 1}, {&zero, 1}}});
        submit_task(w, 2, (struct gw_msg_spec){.pure = 1});
        assert_int_equal(sent(w, WORKER, GW_MESSAGE_assign, 0) == NULL, bytes_max == 72);
        free_world(w);
    }
}

static void different_functions_are_not_memoized_together(void **state)
{
    static const struct gw_bin one = {"11111111111111111111111111111111", 32},
                               two = {"22222222222222222222222222222222", 32};
    const struct gw_msg_spec specs[] = {
        {.pure = 1, .program = one},
        {.pure = 1, .program = two},
        {.pure = 1, .program = one, .function = "g"},
        {.pure = 1, .program = one, .ranks = 2},
        {.pure = 1, .program = one, .files = one},
        {.pure = 1, .program = one, .files = two},
    };
    (void)state;
    run_apart(specs, sizeof specs / sizeof *specs);
}

static void different_commands_are_not_memoized_together(void **state)
{
    static const struct gw_bin echo_a = {"\x92\xa4"
                                         "echo"
                                         "\xa1"
                                         "a",
                                         8},
                               echo_b = {"\x92\xa4"
                                         "echo"
                                         "\xa1"
                                         "b",
                                         8},
                               env = {"\x91\xa3"
                                      "A=1",
                                      5};
    const struct gw_msg_spec specs[] = {
        {.pure = 1, .kind = GW_SPEC_COMMAND, .argv = echo_a},
        {.pure = 1, .kind = GW_SPEC_COMMAND, .argv = echo_b},
        {.pure = 1, .kind = GW_SPEC_COMMAND, .argv = echo_a, .env = env},
        {.pure = 1, .kind = GW_SPEC_COMMAND, .argv = echo_a, .cwd = "/tmp"},
    };
    (void)state;
    run_apart(specs, sizeof specs / sizeof *specs);
}

/* -- Detached jobs --- */

static uint64_t submit_detached(struct world *w, uint64_t request)
{
    send_spec(w, (struct gw_msg_spec){.key = request, .pure = 1});
    submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    const struct gw_message *assign = sent(w, WORKER, GW_MESSAGE_assign, 0);
    const uint64_t attempt = assign ? attempt_in(assign, 0) : 0;
    life_commit(w);
    return attempt;
}

static void detached_jobs_share_a_pure_task_over_a_scheduler_restart(void **state)
{
    (void)state;
    struct world *w = life_begin();
    add_worker(w, 0, 4, "a");
    life_commit(w);
    assert_int_not_equal(submit_detached(w, 1), 0);
    assert_int_equal(submit_detached(w, 2), 0);
    free_world(w);

    w = life_begin();
    add_worker(w, 0, 4, "a");
    const struct gw_msg_assign *assign = &must(w, WORKER, GW_MESSAGE_assign)->assign;
    assert_int_equal(assign->attempt.count, 1); /* only the original runs again */
    const uint64_t attempt = gw_col64_at(assign->attempt, 0);
    life_commit(w);
    assert_int_equal(submit_detached(w, 3), 0);
    finish(w, 0, attempt, GW_RANK_NONE, 3);
    assert_int_not_equal(gw_sched_idle_since_ns(w->sched), 0); /* all three jobs have ended */
    life_commit(w);
    assert_int_equal(submit_detached(w, 4), 0);
    assert_int_not_equal(gw_sched_idle_since_ns(w->sched), 0);
    free_world(w);
}

static void detached_and_attached_jobs_share_no_task(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 4, "a");
    submit_task(w, 1, (struct gw_msg_spec){.pure = 1});
    assert_int_not_equal(submit_detached(w, 2), 0);
    submit_task(w, 3, (struct gw_msg_spec){.pure = 1});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_stored_results_can_be_changed),
        cmocka_unit_test(cancelling_a_pure_task_leaves_an_equal_task_running),
        cmocka_unit_test(cancelling_leaves_a_retried_equal_task_running),
        cmocka_unit_test(different_functions_are_not_memoized_together),
        cmocka_unit_test(different_commands_are_not_memoized_together),
        cmocka_unit_test(detached_jobs_share_a_pure_task_over_a_scheduler_restart),
        cmocka_unit_test(detached_and_attached_jobs_share_no_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
