/* The listing "metrics": order, limits, commits and restarts. */
#include "graph/wire/codec.h"
#include "scheduler/core/model/jobs/metric.h"
#include "tests/unit/scheduler/sched_life.h"

static void report(struct world *w, uint64_t attempt, int64_t step, const char *name, double value)
{
    static uint64_t count;
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_metric,
                            .metric = {attempt, GW_RANK_NONE, step, name, value, ++count, 7}});
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

static bool is_provisional(const struct gw_value *row)
{
    bool yes = false;
    (void)gw_value_get_bool(gw_value_find(row, "provisional"), &yes, NULL);
    return yes;
}

/* A reader at each report sees all rows that a later reader sees, and the others are provisional.
 */
static void rows_of_a_long_history_are_not_dropped_unless_they_are_provisional(void **state)
{
    enum { ALL = GW_METRIC_POINTS_ALL, REPORTS = 2 * ALL + 4 };
    (void)state;
    struct world *w = new_world();
    int64_t seen[REPORTS + 1], seq = 0;
    size_t count = 0;
    add_worker(w, 0, 1, "a");
    const uint64_t one = submit_one(w, 1, 0);
    for (int64_t i = 0; i < REPORTS; i++) {
        report(w, one, i, "loss", 0.5);
        struct gw_value *rows = rows_after(w, seq);
        assert_int_equal(gw_value_count(rows), 1);
        const struct gw_value *row = gw_value_at(rows, 0);
        seq = number_of(row, "seq");
        if (i <= ALL)
            assert_false(is_provisional(row));
        if (i == ALL + 1)
            assert_true(is_provisional(row));
        if (!is_provisional(row) || i == REPORTS - 1)
            seen[count++] = i;
        gw_value_unref(rows);
    }
    struct gw_value *rows = rows_after(w, 0);
    assert_int_equal(gw_value_count(rows), count);
    assert_int_equal(count, ALL + GW_METRIC_POINTS_MORE + 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(number_of(gw_value_at(rows, i), "step"), seen[i]);
    gw_value_unref(rows);
    free_world(w);
}

/* A worker repeats its reports to each term; `last` of them, of which some are known. */
static void repeat(struct world *w, uint64_t attempt, uint64_t last)
{
    for (uint64_t count = 1; count <= last; count++)
        say(w, WORKER,
            (struct gw_message){.type = GW_MESSAGE_metric,
                                .metric = {attempt, GW_RANK_NONE, (int64_t)count,
                                           count % 2 ? "loss" : "accuracy", 1, count, 7}});
}

static void repeated_report_is_stored_once(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "a");
    const uint64_t one = submit_one(w, 1, 0);
    repeat(w, one, 3);
    repeat(w, one, 5);
    EXPECT(rows_after(w, 0), 1, 2, 3, 4, 5);
    free_world(w);
}

/* Also what is dropped is the same, and what a worker repeats is known. */
static void full_history_is_the_same_after_a_restart_and_compaction(void **state)
{
    struct gw_buffer dumps[3] = {{0}}, less = {0}, again = {0};
    (void)state;
    life_facts.size = 0;
    struct world *w = life_begin();
    add_worker(w, 0, 2, "a");
    life_commit(w);
    const uint64_t one = submit_one(w, 1, GW_SUBMIT_DETACHED);
    life_commit(w);
    for (int64_t i = 0; i < 3 * GW_METRIC_POINTS_ALL; i++) {
        report(w, one, i, i % 1000 ? "loss" : "rare", 0.5);
        life_commit(w);
    }
    gw_sched_durable_dump(w->sched, &dumps[0]);
    free_world(w);
    assert_int_equal(gw_sched_compact(&life_facts, &less), 0);
    assert_true(less.size < life_facts.size / 2);
    for (int i = 1; i < 3; i++) {
        const struct gw_buffer *from = i == 1 ? &life_facts : &less;
        struct gw_sched *sched = gw_sched_new(&(struct gw_sched_options){.state_dir = "/s"});
        assert_int_equal(gw_sched_durable_restore(sched, from->data, from->size), 0);
        gw_sched_durable_dump(sched, &dumps[i]);
        assert_int_equal(dumps[i].size, dumps[0].size);
        assert_memory_equal(dumps[i].data, dumps[0].data, dumps[0].size);
        gw_sched_free(sched);
    }
    assert_int_equal(gw_sched_compact(&less, &again), 0);
    assert_int_equal(again.size, less.size);
    for (int i = 0; i < 3; i++)
        gw_buffer_deinit(&dumps[i]);
    gw_buffer_deinit(&less);
    gw_buffer_deinit(&again);
}

static void metrics_of_another_user_are_refused(void **state)
{
    (void)state;
    struct world *w = new_world();
    struct gw_value *arguments = gw_dict();
    struct gw_buffer bytes = {0};
    add_worker(w, 0, 1, "a");
    (void)submit_one(w, 1, 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {2},
                                    .role = GW_ROLE_CLIENT,
                                    .uid = 77,
                                    .text = "other"});
    assert_int_equal(gw_dict_set(arguments, "job", gw_i64(1)), 0);
    assert_int_equal(gw_codec_encode(arguments, NULL, &bytes), 0);
    say(w, 2,
        (struct gw_message){.type = GW_MESSAGE_query,
                            .query = {1, "metrics", {bytes.data, (uint32_t)bytes.size}}});
    assert_int_equal(must(w, 2, GW_MESSAGE_reply)->reply.code, GW_EPERM);
    gw_value_unref(arguments);
    gw_buffer_deinit(&bytes);
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
        cmocka_unit_test(rows_of_a_long_history_are_not_dropped_unless_they_are_provisional),
        cmocka_unit_test(repeated_report_is_stored_once),
        cmocka_unit_test(full_history_is_the_same_after_a_restart_and_compaction),
        cmocka_unit_test(metrics_of_another_user_are_refused),
        cmocka_unit_test(history_and_order_survive_a_restart_of_the_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
