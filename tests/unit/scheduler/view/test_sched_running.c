/* Which tasks count as running: those that workers have started, and not all that are queued there.
 */
#include "tests/unit/scheduler/sched_world.h"

static int64_t number_of(const struct gw_value *dict, const char *key)
{
    int64_t number = -1;
    (void)gw_value_get_i64(gw_value_find(dict, key), &number, NULL);
    return number;
}

/* How many tasks of a job a listing shows in this state. */
static uint32_t called(const struct world *w, int64_t job, const char *state)
{
    struct gw_value *arguments = gw_dict(), *answer = NULL;
    assert_int_equal(gw_dict_set(arguments, "job", gw_i64(job)), 0);
    assert_int_equal(gw_dict_set(arguments, "state", gw_str(state)), 0);
    assert_int_equal(gw_sched_query(w->sched, "tasks", arguments, &answer, NULL), 0);
    const uint32_t count = (uint32_t)gw_value_count(answer);
    gw_value_unref(arguments);
    gw_value_unref(answer);
    return count;
}

static int64_t of_job(const struct world *w, int64_t job, const char *key)
{
    struct gw_value *answer = ask(w, "job", job, -1);
    const int64_t number = number_of(answer, key);
    gw_value_unref(answer);
    return number;
}

/* The count is the same in every listing: of the job, its tasks, the cluster and its first worker.
 */
static void expect(const struct world *w, int64_t job, uint32_t running, uint32_t queued)
{
    struct gw_value *status = ask(w, "status", -1, -1), *workers = ask(w, "workers", -1, -1);
    assert_int_equal(of_job(w, job, "running"), running);
    assert_int_equal(of_job(w, job, "placed"), running + queued);
    assert_int_equal(called(w, job, "running"), running);
    assert_int_equal(called(w, job, "queued"), queued);
    assert_int_equal(called(w, job, "placed"), running + queued);
    assert_int_equal(number_of(gw_value_find(status, "tasks"), "running"), running);
    assert_int_equal(number_of(gw_value_at(workers, 0), "running"), running);
    gw_value_unref(status);
    gw_value_unref(workers);
}

/* A job whose first tasks were short: the message with the next tasks for its worker, of rows
 * `from` on. */
static const struct gw_message *short_ones(struct world *w, uint32_t slots, uint32_t rows)
{
    add_worker(w, 0, slots, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, rows, GW_SUBMIT_LAST, false, 0});
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    assert_int_equal(assign->assign.attempt.count, slots); /* their run time is unknown */
    uint64_t first[2] = {attempt_in(assign, 0), attempt_in(assign, slots - 1)};
    finish_after(w, 0, first[0], 1000);
    assign = must(w, WORKER, GW_MESSAGE_assign);
    if (slots == 1)
        return assign;
    finish_after(w, 0, first[1], 1000);
    return assign;
}

static void running_count_of_pipelined_tasks_is_the_slot_count(void **state)
{
    struct world *w = new_world();
    (void)state;
    const struct gw_message *assign = short_ones(w, 1, 8);
    const uint32_t pipelined = assign->assign.attempt.count;
    const uint64_t first = attempt_in(assign, 0);
    assert_true(pipelined > 1);
    expect(w, 1, 1, pipelined - 1);
    assert_null(strstr(explain(w, 1, 1), "queued behind"));
    explained_of(w, 1, 2, "at a, attempt 1, queued behind tasks that run there");
    finish_after(w, 0, first, 1000);
    assert_int_equal(of_job(w, 1, "running"), 1); /* the next task has its slot */
    assert_null(strstr(explain(w, 1, 2), "queued behind"));
    free_world(w);
}

static void two_slots_show_two_running_tasks(void **state)
{
    struct world *w = new_world();
    (void)state;
    (void)short_ones(w, 2, 8);
    const int64_t placed = of_job(w, 1, "placed");
    assert_true(placed > 2);
    expect(w, 1, 2, (uint32_t)placed - 2);
    free_world(w);
}

static void task_reported_as_started_is_shown_running(void **state)
{
    struct world *w = new_world();
    (void)state;
    const struct gw_message *assign = short_ones(w, 1, 8);
    const uint32_t pipelined = assign->assign.attempt.count, rank = GW_RANK_NONE;
    assert_true(pipelined > 1);
    const uint64_t second = attempt_in(assign, 1); /* its worker started it first */
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_started, .started = {{&second, 1}, {&rank, 1}}});
    assert_int_equal(of_job(w, 1, "running"), 1);
    assert_null(strstr(explain(w, 1, 2), "queued behind"));
    explained_of(w, 1, 1, "queued behind");
    free_world(w);
}

static void gang_counts_as_a_single_running_task(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 4, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 3});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER, GW_MESSAGE_gang);
    assert_int_equal(of_job(w, 1, "running"), 1);
    assert_int_equal(called(w, 1, "running"), 1);
    struct gw_value *workers = ask(w, "workers", -1, -1);
    assert_int_equal(number_of(gw_value_at(workers, 0), "running"), 3);
    gw_value_unref(workers);
    free_world(w);
}

/* Each task waits at its worker for the task before it. */
static void task_queued_at_its_worker_is_not_shown_running(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){0});
    send_spec(w, (struct gw_msg_spec){.key = 2});
    submit(w, (struct chunk){2, 4, GW_SUBMIT_LAST, true, 0});
    for (int i = 0; i < 2; i++) /* until then, the tasks are not known to be short */
        finish_after(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), MS);
    pass(w, 1);
    assert_true(called(w, 2, "pipelined") > 0);
    assert_int_equal(of_job(w, 2, "running"), 1);
    assert_int_equal(of_job(w, 2, "placed"), 1 + called(w, 2, "pipelined"));
    assert_int_equal(called(w, 2, "running"), 1);
    assert_int_equal(called(w, 2, "queued"), 0);
    assert_int_equal(of_job(w, 1, "running"), 1);
    free_world(w);
}

static void ask_for(struct world *w, uint32_t verb)
{
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {7, 1, verb}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
}

/* A queued task also does not take the place, in the counts, of a task that came later and runs:
 * here the last task of the first job, which was paused meanwhile. */
static void queued_task_does_not_take_a_running_slot_in_the_count(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, false, 0});
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    const uint64_t first = attempt_in(assign, 0), other = attempt_in(assign, 1);
    ask_for(w, GW_ASK_PAUSE);
    finish_after(w, 0, first, MS);
    send_spec(w, (struct gw_msg_spec){.key = 2});
    submit(w, (struct chunk){2, 6, GW_SUBMIT_LAST, true, 0});
    for (int i = 0; i < 2; i++)
        finish_after(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), MS);
    assert_true(called(w, 2, "pipelined") > 0);
    ask_for(w, GW_ASK_RESUME);
    finish_after(w, 0, other, MS);
    assert_true(called(w, 2, "pipelined") > 0);
    for (int64_t job = 1; job <= 2; job++) {
        assert_int_equal(of_job(w, job, "running"), 1);
        assert_int_equal(called(w, job, "running"), 1);
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_count_of_pipelined_tasks_is_the_slot_count),
        cmocka_unit_test(two_slots_show_two_running_tasks),
        cmocka_unit_test(task_reported_as_started_is_shown_running),
        cmocka_unit_test(gang_counts_as_a_single_running_task),
        cmocka_unit_test(task_queued_at_its_worker_is_not_shown_running),
        cmocka_unit_test(queued_task_does_not_take_a_running_slot_in_the_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
