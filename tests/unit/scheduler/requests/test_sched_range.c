/* Ranges, job dependencies and streams, decision by decision. The simulator covers long runs and
 * faults. */
#include "tests/unit/scheduler/sched_world.h"

/* One worker, and ranges in blocks of `block` rows; 0: the default. */
static struct world *range_world(uint32_t block, uint32_t slots)
{
    struct world *w =
        new_world_with((struct gw_sched_options){.state_dir = "/s", .range_block = block});
    add_worker(w, 0, slots, "a");
    return w;
}

static void send_range(struct world *w, struct gw_msg_range range)
{
    static const uint8_t args[] = {0x91, 0xd3, 0, 0, 0, 0, 0, 0, 0, 0};
    send_spec(w, (struct gw_msg_spec){.key = range.request});
    range.name = "r";
    range.step = range.step ? range.step : 1;
    range.args = (struct gw_bin){args, sizeof args};
    range.index_at = 1;
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_range, .range = range});
}

/* The number given to row i of an assign message. */
static int64_t number_in(const struct gw_message *assign, uint32_t row)
{
    const uint8_t *args = assign->assign.args.data;
    uint64_t number = 0;
    assert_true(row < assign->assign.attempt.count);
    for (uint32_t i = 0; i < row; i++)
        args += gw_col32_at(assign->assign.args_size, i);
    for (uint32_t i = 2; i < 10; i++)
        number = number << 8 | args[i];
    return (int64_t)number;
}

static uint64_t first_attempt(struct world *w)
{
    return gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt, 0);
}

static void release(struct world *w, uint64_t job, uint32_t index)
{
    uint32_t rank = GW_RANK_NONE;
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_release,
                            .release = {{&job, 1}, {&index, 1}, {&rank, 1}}});
}

static void expect_text(struct world *w, const char *what, int64_t job, const char *text)
{
    struct gw_value *answer = ask(w, what, job, -1);
    char all[2048];
    (void)gw_value_format(answer, all, sizeof all);
    if (!strstr(all, text))
        fail_msg("%s: %s", what, all);
    gw_value_unref(answer);
}

/* -- Tests ---------------------------------------------------------------------------------------
 */

static void each_range_task_gets_its_number(void **state)
{
    struct world *w = range_world(4, 1);
    (void)state;
    send_range(w, (struct gw_msg_range){.request = 1, .begin = -3, .step = 5, .count = 3});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job, 1);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), -3 + 5 * i);
        finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
        assert_null(sent(w, CLIENT, GW_MESSAGE_done, 0));
    }
    expect_text(w, "job", 1, "\"state\": \"done\"");
    expect_text(w, "job", 1, "\"done\": 3");
    free_world(w);
}

static void range_produces_results_as_fast_as_the_client_takes_them(void **state)
{
    struct world *w = range_world(2, 8);
    (void)state;
    send_range(
        w, (struct gw_msg_range){.request = 1, .count = 10, .flags = GW_RANGE_RESULTS, .ahead = 3});
    struct gw_msg_assign assign = must(w, WORKER, GW_MESSAGE_assign)->assign;
    assert_int_equal(assign.attempt.count, 3);
    uint64_t attempts[3];
    for (uint32_t i = 0; i < 3; i++)
        attempts[i] = gw_col64_at(assign.attempt, i);
    for (uint32_t i = 0; i < 3; i++) {
        finish(w, 0, attempts[i], GW_RANK_NONE, 3);
        must(w, CLIENT, GW_MESSAGE_done);
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    }
    explained(w, 1, "3 of 10 tasks are done, and it waits until its client");
    release(w, 1, 1);
    assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), 3);
    release(w, 1, 0); /* block 0 is freed */
    assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), 4);
    expect_text(w, "tasks", 1, "\"index\": 2");
    expect_text(w, "job", 1, "\"tasks\": 10");
    release(w, 1, 0); /* a second release: it is over */
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    free_world(w);
}

/* The client may still ask for files and checkpoints of tasks whose results it has taken. */
static void range_is_forgotten_when_its_client_closes_it(void **state)
{
    struct world *w = range_world(2, 1);
    (void)state;
    send_range(w, (struct gw_msg_range){.request = 1, .count = 1, .flags = GW_RANGE_RESULTS});
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    release(w, 1, 0);
    assert_null(sent(w, WORKER, GW_MESSAGE_forget, 0));
    release(w, 1, GW_INDEX_ALL);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_forget)->forget.job, 1);
    free_world(w);
}

static void released_range_task_never_runs(void **state)
{
    struct world *w = range_world(2, 8);
    (void)state;
    send_range(
        w, (struct gw_msg_range){.request = 1, .count = 10, .flags = GW_RANGE_RESULTS, .ahead = 1});
    uint64_t attempt = first_attempt(w);
    for (uint32_t row = 9; row >= 4; row--)
        release(w, 1, row);
    release(w, 1, 2);
    release(w, 1, 10); /* there is no such row */
    finish(w, 0, attempt, GW_RANK_NONE, 3);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    release(w, 1, 0);
    assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), 1);
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    release(w, 1, 1); /* 2 is skipped */
    assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), 3);
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    expect_text(w, "job", 1, "\"done\": 3, \"failed\": 0, \"cancelled\": 1");
    release(w, 1, 3);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    expect_text(w, "job", 1, "\"done\": 3, \"failed\": 0, \"cancelled\": 7");
    free_world(w);
}

static void range_of_a_billion_tasks_stores_only_running_tasks(void **state)
{
    struct world *w = range_world(0, 2);
    (void)state;
    send_range(w, (struct gw_msg_range){.request = 1, .count = 1000000000, .limit = 2});
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 2);
    explained(w, 1, "0 of 1,000,000,000 tasks are done, 2 are at workers");
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {9, 1, GW_INDEX_ALL, 1}});
    must(w, WORKER, GW_MESSAGE_kill);
    expect_text(w, "job", 1, "\"cancelled\": 999999998");
    send_range(w, (struct gw_msg_range){.request = 2, .count = 0});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.code, GW_ELIMIT);
    send_range(w,
               (struct gw_msg_range){.request = 3, .begin = INT64_MAX - 1, .step = 1, .count = 3});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.code, GW_EINVAL);
    free_world(w);
}

static void first_failure_cancels_a_range_with_stop_flag(void **state)
{
    struct world *w = range_world(4, 1);
    (void)state;
    send_range(w, (struct gw_msg_range){
                      .request = 1, .count = 100000, .flags = GW_RANGE_STOP, .limit = 1});
    fail_attempt(w, 0, first_attempt(w));
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    expect_text(w, "job", 1, "\"failed\": 1, \"cancelled\": 99999");
    expect_text(w, "job", 1, "no luck");
    send_range(w, (struct gw_msg_range){.request = 2, .count = 2, .limit = 1});
    fail_attempt(w, 0, first_attempt(w)); /* another range continues */
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    expect_text(w, "job", 2, "\"done\": 1, \"failed\": 1");
    free_world(w);
}

static void cancel(struct world *w, uint64_t job, uint32_t index)
{
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {9, job, index, 1}});
}

static void commit(struct world *w)
{
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000});
}

static int32_t retry(struct world *w, uint64_t job, uint32_t index)
{
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_retry, .retry = {9, job, index}});
    return must(w, CLIENT, GW_MESSAGE_reply)->reply.code;
}

/* The range of six tasks at one slot: the first is done, the second failed, the third is cancelled
 * at its worker together with the tasks that never began. */
static void end_badly(struct world *w, uint64_t request)
{
    commit(w); /* from here on, everything is on disk at once and answered */
    send_range(w, (struct gw_msg_range){
                      .request = request, .flags = GW_SUBMIT_DETACHED, .count = 6, .limit = 1});
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    fail_attempt(w, 0, first_attempt(w));
    uint64_t third = first_attempt(w);
    cancel(w, request, GW_INDEX_ALL);
    fail_attempt(w, 0, third);
    expect_text(w, "job", (int64_t)request, "\"done\": 1, \"failed\": 1, \"cancelled\": 4");
}

static void retry_reruns_unfinished_tasks_of_a_detached_range(void **state)
{
    struct world *w = range_world(2, 1);
    (void)state;
    end_badly(w, 1);
    assert_int_equal(retry(w, 1, GW_INDEX_ALL), 0);
    assert_memory_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.body.data, "\xce\0\0\0\5", 5);
    for (int64_t number = 1; number < 6; number++) {
        assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), number);
        finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    }
    commit(w);
    expect_text(w, "job", 1, "\"state\": \"done\"");
    expect_text(w, "job", 1, "\"done\": 6, \"failed\": 0, \"cancelled\": 0");
    assert_int_equal(retry(w, 1, GW_INDEX_ALL), GW_EINVAL);
    send_range(w, (struct gw_msg_range){.request = 2, .count = 2, .limit = 1});
    assert_int_equal(retry(w, 2, GW_INDEX_ALL), GW_ENOTSUP); /* the range ends with its client */
    free_world(w);
}

static void retry_reruns_a_single_task_of_a_detached_range(void **state)
{
    struct world *w = range_world(2, 1);
    (void)state;
    end_badly(w, 1);
    assert_int_equal(retry(w, 1, 4), 0); /* which never began */
    assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), 4);
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    expect_text(w, "job", 1, "\"done\": 2, \"failed\": 1, \"cancelled\": 3");
    assert_int_equal(retry(w, 1, 1), 0); /* the first failure */
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    expect_text(w, "job", 1, "\"done\": 3, \"failed\": 0, \"cancelled\": 3");
    commit(w);
    expect_text(w, "job", 1, "\"text\": \"cancelled\""); /* the remaining tasks did not end well */
    assert_int_equal(retry(w, 1, 4), GW_EINVAL);         /* it is done */
    assert_int_equal(retry(w, 1, 6), GW_ENOENT);
    free_world(w);
}

static void cancelled_range_task_never_runs(void **state)
{
    struct world *w = range_world(2, 1);
    (void)state;
    send_range(w, (struct gw_msg_range){.request = 1, .count = 4, .limit = 1});
    uint64_t first = first_attempt(w);
    cancel(w, 1, 2);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
    expect_text(w, "job", 1, "\"cancelled\": 0");
    finish(w, 0, first, GW_RANK_NONE, 3);
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    assert_int_equal(number_in(must(w, WORKER, GW_MESSAGE_assign), 0), 3);
    expect_text(w, "job", 1, "\"done\": 2, \"failed\": 0, \"cancelled\": 1");
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    expect_text(w, "job", 1, "\"done\": 3, \"failed\": 0, \"cancelled\": 1");
    free_world(w);
}

/* Rows that do not exist yet also use the input. */
static void range_inputs_stay_until_the_last_task(void **state)
{
    struct world *w = range_world(2, 1);
    uint64_t job = 1;
    uint32_t zero = 0;
    (void)state;
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    uint64_t attempt = first_attempt(w);
    send_range(w, (struct gw_msg_range){.request = 2,
                                        .count = 5,
                                        .limit = 1,
                                        .dep_job = {&job, 1},
                                        .dep_index = {&zero, 1},
                                        .dep_rank = {&zero, 1}});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 0, attempt, GW_RANK_NONE, 3);
    for (int i = 0; i < 5; i++) {
        if (i == 0)
            attempt = first_attempt(w);
        assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.dep_values.size, 3);
        attempt = first_attempt(w);
        if (i == 2)
            release(w, 1, 0);
        finish(w, 0, attempt, GW_RANK_NONE, 3);
    }
    expect_text(w, "job", 2, "\"done\": 5");
    free_world(w);
}

static void job_starts_after_its_predecessor_ends(void **state)
{
    struct world *w = range_world(4, 2);
    uint64_t before = 1;
    uint32_t any = 0;
    (void)state;
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    uint64_t attempt = first_attempt(w);
    for (uint64_t request = 2; request < 4; request++) {
        send_spec(w, (struct gw_msg_spec){.key = request});
        any = request == 3;
        say(w, CLIENT,
            (struct gw_message){.type = GW_MESSAGE_after,
                                .after = {request, 0, {&before, 1}, {&any, 1}}});
        submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
        must(w, CLIENT, GW_MESSAGE_accepted);
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    }
    explained(w, 2, "its job waits for the end of job 1 (j)");
    fail_attempt(w, 0, attempt);
    expect_text(w, "job", 2, "job 1, for which this job waits, did not succeed");
    assert_int_equal(gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0), 3);
    any = 0;
    send_spec(w, (struct gw_msg_spec){.key = 4});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_after, .after = {4, 0, {&before, 1}, {&any, 1}}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.code, GW_EDEPENDENCY);
    free_world(w);
}

/* Job `request`, of one task, waits for other jobs. */
static void submit_after(struct world *w, uint64_t request, uint64_t *before, uint32_t count)
{
    uint32_t any[2] = {0};
    send_spec(w, (struct gw_msg_spec){.key = request});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_after,
                            .after = {request, 0, {before, count}, {any, count}}});
    submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
    must(w, CLIENT, GW_MESSAGE_accepted);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
}

static void retried_job_waits_for_its_retried_predecessor(void **state)
{
    struct world *w = range_world(4, 2);
    uint64_t before[2] = {1, 2}, attempts[2];
    (void)state;
    for (uint64_t request = 1; request < 3; request++) {
        send_spec(w, (struct gw_msg_spec){.key = request});
        submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
        attempts[request - 1] = first_attempt(w);
    }
    submit_after(w, 3, before, 2);
    fail_attempt(w, 0, attempts[0]);
    expect_text(w, "job", 3, "\"failed\": 1");

    assert_int_equal(retry(w, 1, 0), 0);
    attempts[0] = first_attempt(w);
    assert_int_equal(retry(w, 3, 0), 0);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 3, "its job waits for the end of job 1 (j), job 2 (j)");
    finish(w, 0, attempts[1], GW_RANK_NONE, 3); /* which the job depended on all the time */
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    fail_attempt(w, 0, attempts[0]);
    expect_text(w, "job", 3, "job 1, for which this job waits, did not succeed");

    assert_int_equal(retry(w, 1, 0), 0);
    attempts[0] = first_attempt(w);
    assert_int_equal(retry(w, 3, 0), 0);
    finish(w, 0, attempts[0], GW_RANK_NONE, 3);
    assert_int_equal(gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0), 3);
    fail_attempt(w, 0, first_attempt(w));
    assert_int_equal(retry(w, 3, 0), 0); /* all its predecessors have ended */
    assert_int_equal(gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0), 3);
    free_world(w);
}

static void stream_tasks_run_before_the_stream_is_complete(void **state)
{
    struct world *w = range_world(4, 2);
    (void)state;
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_STREAM | GW_SUBMIT_PART, false, 0});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_opened)->opened.job, 1);
    assert_null(sent(w, CLIENT, GW_MESSAGE_accepted, 0));
    finish(w, 0, first_attempt(w), GW_RANK_NONE, 3);
    must(w, CLIENT, GW_MESSAGE_done);
    expect_text(w, "job", 1, "\"state\": \"open\"");
    release(w, 1, 0); /* and its result is released, although the stream is open */
    expect_text(w, "tasks", 1, "\"state\": \"done\"");
    submit(w, (struct chunk){1, 1, GW_SUBMIT_STREAM | GW_SUBMIT_PART, false,
                             0}); /* its target is row 0, which is not of this chunk */
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.code, GW_EINVAL);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_range_task_gets_its_number),
        cmocka_unit_test(range_produces_results_as_fast_as_the_client_takes_them),
        cmocka_unit_test(range_is_forgotten_when_its_client_closes_it),
        cmocka_unit_test(released_range_task_never_runs),
        cmocka_unit_test(range_of_a_billion_tasks_stores_only_running_tasks),
        cmocka_unit_test(first_failure_cancels_a_range_with_stop_flag),
        cmocka_unit_test(retry_reruns_unfinished_tasks_of_a_detached_range),
        cmocka_unit_test(retry_reruns_a_single_task_of_a_detached_range),
        cmocka_unit_test(cancelled_range_task_never_runs),
        cmocka_unit_test(range_inputs_stay_until_the_last_task),
        cmocka_unit_test(job_starts_after_its_predecessor_ends),
        cmocka_unit_test(retried_job_waits_for_its_retried_predecessor),
        cmocka_unit_test(stream_tasks_run_before_the_stream_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
