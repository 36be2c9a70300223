/* The listing "metrics": order, limits, commits and restarts. */
#include "scheduler/core/model/jobs/metric.h"
#include "tests/unit/scheduler/sched_life.h"

static void report(struct world *w, uint64_t attempt, int64_t step, const char *name, double value)
{
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_metric,
                            .metric = {attempt, GW_RANK_NONE, step, name, value}});
}

/* The rows of jobs 1 to 3 whose numbers are above `after`; the caller unrefs them. */
static struct gw_value *rows_after(const struct world *w, int64_t after)
{
    struct gw_value *arguments = gw_dict(), *jobs = gw_list(), *rows = NULL;
    struct gw_error error;
    for (int64_t job = 1; job <= 3; job++)
        assert_int_equal(gw_list_push(jobs, gw_i64(job)), 0);
    assert_int_equal(gw_dict_set(arguments, "jobs", jobs), 0);
    assert_int_equal(gw_dict_set(arguments, "after", gw_i64(after)), 0);
    if (gw_sched_query(w->sched, "metrics", arguments, &rows, &error) < 0)
        fail_msg("%s", error.text);
    gw_value_unref(arguments);
    return rows;
}

static int64_t number_of(const struct gw_value *row, const char *key)
{
    int64_t number = -1;
    (void)gw_value_get_i64(gw_value_find(row, key), &number, NULL);
    return number;
}

/* Expects the steps of these rows, -1 for the end of a job, and returns the last number. */
static int64_t expect(struct gw_value *rows, const int64_t *steps, size_t count)
{
    int64_t last = 0;
    assert_int_equal(gw_value_count(rows), count);
    for (size_t i = 0; i < count; i++) {
        const struct gw_value *row = gw_value_at(rows, i);
        assert_int_equal(number_of(row, "step"), steps[i]);
        assert_int_equal(gw_value_find(row, "end") != NULL, steps[i] < 0);
        assert_true(number_of(row, "seq") > last);
        last = number_of(row, "seq");
    }
    gw_value_unref(rows);
    return last;
}
#define EXPECT(rows, ...)                                                                          \
    expect((rows), (const int64_t[]){__VA_ARGS__},                                                 \
           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static uint64_t submit_one(struct world *w, uint64_t request, uint32_t flags)
{
    send_spec(w, (struct gw_msg_spec){.key = request});
    submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST | flags, false, 0});
    return attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
}

static void reports_and_ends_of_jobs_come_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 2, "a");
    const uint64_t one = submit_one(w, 1, 0), two = submit_one(w, 2, 0);
    report(w, one, 1, "loss", 0.5);
    report(w, two, 2, "loss", 0.5);
    report(w, one, 3, "accuracy", 0.5);
    const int64_t seen = EXPECT(rows_after(w, 0), 1, 2, 3);
    finish(w, 0, one, GW_RANK_NONE, 3);
    report(w, two, 4, "loss", 0.5);
    const int64_t last = EXPECT(rows_after(w, seen), -1, 4);
    struct gw_value *none = rows_after(w, last);
    assert_int_equal(gw_value_count(none), 0);
    gw_value_unref(none);
    free_world(w);
}

static void no_row_is_shown_before_an_earlier_one_is_committed(void **state)
{
    (void)state;
    struct world *w = new_world_with((struct gw_sched_options){.state_dir = "/s"});
    add_worker(w, 0, 2, "a");
    const uint64_t one = submit_one(w, 1, GW_SUBMIT_DETACHED);
    const uint64_t two = submit_one(w, 2, 0); /* nothing of it is durable */
    report(w, one, 1, "loss", 0.5);
    report(w, two, 2, "loss", 0.5);
    struct gw_value *rows = rows_after(w, 0);
    assert_int_equal(gw_value_count(rows), 0);
    gw_value_unref(rows);
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000});
    EXPECT(rows_after(w, 0), 1, 2);
    free_world(w);
}

static void a_full_history_keeps_every_second_point(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "a");
    const uint64_t one = submit_one(w, 1, 0);
    for (int64_t i = 0; i < GW_METRIC_POINTS_MAX; i++)
        report(w, one, i, "loss", 0.5);
    struct gw_value *rows = rows_after(w, 0);
    assert_int_equal(gw_value_count(rows), GW_METRIC_POINTS_MAX);
    gw_value_unref(rows);
    for (int64_t i = GW_METRIC_POINTS_MAX; i < GW_METRIC_POINTS_MAX + 100; i++)
        report(w, one, i, "loss", 0.5);
    rows = rows_after(w, 0);
    assert_int_equal(gw_value_count(rows), GW_METRIC_POINTS_MAX / 2 + 50);
    for (size_t i = 0; i < gw_value_count(rows); i++)
        assert_int_equal(number_of(gw_value_at(rows, i), "step"), 2 * i);
    gw_value_unref(rows);
    free_world(w);
}

static void history_and_order_survive_a_restart_of_the_scheduler(void **state)
{
    (void)state;
    life_facts.size = 0;
    struct world *w = life_begin();
    add_worker(w, 0, 2, "a");
    const uint64_t one = submit_one(w, 1, GW_SUBMIT_DETACHED);
    life_commit(w);
    report(w, one, 1, "loss", 0.5);
    life_commit(w);
    finish(w, 0, one, GW_RANK_NONE, 3);
    life_commit(w);
    const int64_t seen = EXPECT(rows_after(w, 0), 1, -1);
    free_world(w);
    w = life_begin();
    assert_int_equal(EXPECT(rows_after(w, 0), 1, -1), seen);
    add_worker(w, 0, 2, "a");
    const uint64_t two = submit_one(w, 2, 0);
    const uint64_t job = gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0);
    report(w, two, 7, "loss", 0.5);
    struct gw_value *row = ask(w, "metrics", (int64_t)job, -1);
    assert_int_equal(number_of(gw_value_at(row, 0), "step"), 7);
    assert_true(number_of(gw_value_at(row, 0), "seq") > seen);
    gw_value_unref(row);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_and_ends_of_jobs_come_in_the_order_of_their_numbers),
        cmocka_unit_test(no_row_is_shown_before_an_earlier_one_is_committed),
        cmocka_unit_test(a_full_history_keeps_every_second_point),
        cmocka_unit_test(history_and_order_survive_a_restart_of_the_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
