/* What listings show of jobs and tasks besides their states: users, metrics, resource use. */
#include "tests/unit/scheduler/sched_world.h"

static struct gw_value *row_of(const struct world *w, const char *what, int64_t job)
{
    struct gw_value *list = ask(w, what, job, -1);
    struct gw_value *row =
        gw_value_type(list) == GW_LIST ? gw_value_ref(gw_value_at(list, 0)) : gw_value_ref(list);
    gw_value_unref(list);
    return row;
}

static double real_of(const struct gw_value *dict, const char *key)
{
    double real = -1;
    (void)gw_value_get_f64(gw_value_find(dict, key), &real, NULL);
    return real;
}

static int64_t number_of(const struct gw_value *dict, const char *key)
{
    int64_t number = -1;
    (void)gw_value_get_i64(gw_value_find(dict, key), &number, NULL);
    return number;
}

static const char *text_of(const struct gw_value *dict, const char *key)
{
    const char *text = "";
    (void)gw_value_get_str(gw_value_find(dict, key), &text, NULL);
    return text;
}

/* A gang of 2 ranks with 3 slots each, which occupies them from its placement on. */
static uint64_t place_gang(struct world *w)
{
    add_worker_with(w, 0, 6, "a", 16 << 20);
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 2, .slots = 3, .memory_bytes = 4 << 20});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    return attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
}

static void slot_seconds_count_running_ranks(void **state)
{
    struct world *w = new_world();
    (void)state;
    const uint64_t attempt = place_gang(w);
    pass(w, 1000 * MS);
    struct gw_value *row = row_of(w, "job", 1);
    assert_true(real_of(row, "slot_seconds") > 5.99 && real_of(row, "slot_seconds") < 6.01);
    gw_value_unref(row);
    for (uint32_t rank = 0; rank < 2; rank++)
        attempt_ended(w, 0,
                      (struct gw_msg_ended){.attempt = attempt,
                                            .rank = rank,
                                            .outcome = GW_OUTCOME_FAILED,
                                            .code = GW_ETASK,
                                            .executing = 1});
    pass(w, 1000 * MS); /* the gang has ended: nothing is added */
    row = row_of(w, "job", 1);
    assert_true(real_of(row, "slot_seconds") > 5.99 && real_of(row, "slot_seconds") < 6.01);
    assert_int_equal(number_of(gw_value_find(row, "resources"), "slots"), 3);
    assert_int_equal(number_of(gw_value_find(row, "resources"), "memory_bytes"), 4 << 20);
    gw_value_unref(row);
    free_world(w);
}

/* Short tasks wait at their worker for its only slot; only their run time counts. */
static void slot_seconds_of_short_tasks_count_their_run_time(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, false, 0});
    finish_after(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), MS);
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    const uint64_t second = attempt_in(assign, 0), third = attempt_in(assign, 1);
    pass(w, 1000 * MS);
    finish_after(w, 0, second, 20 * MS);
    finish_after(w, 0, third, 30 * MS);
    struct gw_value *row = row_of(w, "job", 1), *tasks = ask(w, "tasks", 1, -1);
    assert_true(real_of(row, "slot_seconds") > 0.049 && real_of(row, "slot_seconds") < 0.052);
    assert_int_equal(number_of(gw_value_at(tasks, 1), "run_ns"), 20 * MS);
    assert_int_equal(number_of(gw_value_at(tasks, 0), "run_ns"), -1); /* too short to be stored */
    gw_value_unref(row);
    gw_value_unref(tasks);
    free_world(w);
}

static void report(struct world *w, uint64_t attempt, int64_t step, const char *name, double value)
{
    static uint64_t count;
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_metric,
                            .metric = {attempt, GW_RANK_NONE, step, name, value, ++count, 7}});
}

static void latest_metric_of_each_name_is_shown_per_task(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, false, 0});
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    const uint64_t first = attempt_in(assign, 0), second = attempt_in(assign, 1);
    report(w, first, 1, "loss", 0.5);
    report(w, first, 2, "loss", 0.25);
    report(w, first, 3, "accuracy", 0.75);
    report(w, second, 9, "loss", 4);
    struct gw_value *row = row_of(w, "tasks", 1);
    assert_true(real_of(gw_value_find(row, "metrics"), "loss") == 0.25);
    assert_true(real_of(gw_value_find(row, "metrics"), "accuracy") == 0.75);
    assert_string_equal(text_of(gw_value_find(row, "metric"), "shown"),
                        "accuracy=0.75 loss=0.25 (step 3)");
    gw_value_unref(row);
    row = row_of(w, "job", 1);
    assert_true(real_of(gw_value_find(row, "metric"), "value") == 4);
    gw_value_unref(row);
    explained_of(w, 1, 0, "its latest metrics: accuracy=0.75 loss=0.25 (step 3)");
    free_world(w);
}

/* Eight names are accepted, and the ninth is not. */
static void ninth_metric_name_of_a_task_is_dropped(void **state)
{
    struct world *w = new_world();
    char name[16];
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        report(w, attempt, i, name, i);
    }
    report(w, attempt, 10, "m0", 10); /* a known name still accepts values */
    struct gw_value *row = row_of(w, "tasks", 1);
    assert_int_equal(gw_value_count(gw_value_find(row, "metrics")), 8);
    assert_true(real_of(gw_value_find(row, "metrics"), "m0") == 10);
    gw_value_unref(row);
    free_world(w);
}

/* The task that its worker received last ends well, with this result. */
static void finish_with(struct world *w, struct gw_bin result)
{
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    const uint64_t bytes = result.size, run_ns = 1;
    const uint32_t rank = GW_RANK_NONE, size = result.size;
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_finished,
                            .finished = {.attempt = {&attempt, 1},
                                         .rank = {&rank, 1},
                                         .bytes = {&bytes, 1},
                                         .value_size = {&size, 1},
                                         .values = result,
                                         .run_ns = {&run_ns, 1}}});
}

static void small_results_are_shown_on_request(void **state)
{
    static const uint8_t seven[] = {7};
    struct world *w = new_world();
    struct gw_value *arguments = gw_dict(), *list;
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    finish_with(w, (struct gw_bin){seven, sizeof seven});
    assert_int_equal(gw_dict_set(arguments, "job", gw_i64(1)), 0);
    assert_int_equal(gw_sched_query(w->sched, "tasks", arguments, &list, NULL), 0);
    assert_null(gw_value_find(gw_value_at(list, 0), "result"));
    gw_value_unref(list);
    assert_int_equal(gw_dict_set(arguments, "results", gw_bool(true)), 0);
    assert_int_equal(gw_sched_query(w->sched, "tasks", arguments, &list, NULL), 0);
    assert_int_equal(number_of(gw_value_at(list, 0), "result"), 7);
    assert_int_equal(number_of(gw_value_at(list, 0), "exit_code"), 0);
    gw_value_unref(list);
    gw_value_unref(arguments);
    free_world(w);
}

/* A task may return a value nested as deeply as a message allows, or a reference. */
static void results_that_fit_no_answer_are_omitted(void **state)
{
    static const uint8_t deep[14] = {0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91,
                                     0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 7};
    static const uint8_t reference[] = {0xd4, 1, 0};
    static const struct gw_bin results[] = {{deep, sizeof deep}, {reference, sizeof reference}};
    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        struct world *w = new_world();
        struct gw_value *arguments = gw_dict(), *list;
        add_worker(w, 0, 1, "a");
        send_spec(w, (struct gw_msg_spec){.key = 1});
        submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
        finish_with(w, results[i]);
        assert_int_equal(gw_dict_set(arguments, "job", gw_i64(1)), 0);
        assert_int_equal(gw_dict_set(arguments, "results", gw_bool(true)), 0);
        assert_int_equal(gw_sched_query(w->sched, "tasks", arguments, &list, NULL), 0);
        assert_null(gw_value_find(gw_value_at(list, 0), "result"));
        assert_int_equal(number_of(gw_value_at(list, 0), "exit_code"), 0);
        gw_value_unref(list);
        gw_value_unref(arguments);
        free_world(w);
    }
}

static void jobs_can_be_selected_by_user_name(void **state)
{
    struct world *w = new_world();
    struct gw_value *arguments = gw_dict(), *list;
    (void)state;
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {CLIENT + 1},
                                    .role = GW_ROLE_CLIENT,
                                    .text = "another",
                                    .user = "alice"}); /* user 0, as CLIENT is */
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    struct gw_value *row = row_of(w, "job", 1);
    assert_string_equal(text_of(row, "user"), "alice");
    gw_value_unref(row);
    assert_int_equal(gw_dict_set(arguments, "user", gw_str("alice")), 0);
    assert_int_equal(gw_sched_query(w->sched, "jobs", arguments, &list, NULL), 0);
    assert_int_equal(gw_value_count(list), 1);
    gw_value_unref(list);
    assert_int_equal(gw_dict_set(arguments, "user", gw_str("bob")), 0);
    assert_int_equal(gw_sched_query(w->sched, "jobs", arguments, &list, NULL), 0);
    assert_int_equal(gw_value_count(list), 0);
    gw_value_unref(list);
    gw_value_unref(arguments);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot_seconds_count_running_ranks),
        cmocka_unit_test(slot_seconds_of_short_tasks_count_their_run_time),
        cmocka_unit_test(latest_metric_of_each_name_is_shown_per_task),
        cmocka_unit_test(ninth_metric_name_of_a_task_is_dropped),
        cmocka_unit_test(small_results_are_shown_on_request),
        cmocka_unit_test(results_that_fit_no_answer_are_omitted),
        cmocka_unit_test(jobs_can_be_selected_by_user_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
