/* Use by attempts that a restarted scheduler adopted: their time before it, their CPU time and
 * their memory. */
#include "tests/unit/scheduler/membership/claims.h"

#include <stdlib.h>

#define SECOND (1000 * MS)

/* Expects the slot-seconds and the start of a job (the clock of the test is its wall clock). */
static void expect_use(const struct world *w, uint64_t job, double slot_seconds, uint64_t start_ns)
{
    struct gw_value *row = ask(w, "job", (int64_t)job, -1);
    double seconds = 0;
    int64_t started_ns = 0;
    (void)gw_value_get_f64(gw_value_find(row, "slot_seconds"), &seconds, NULL);
    (void)gw_value_get_i64(gw_value_find(row, "started_ns"), &started_ns, NULL);
    gw_value_unref(row);
    if (seconds < slot_seconds - 0.01 || seconds > slot_seconds + 0.01)
        fail_msg("%g slot-seconds, not %g", seconds, slot_seconds);
    assert_in_range(started_ns, start_ns - 10 * MS, start_ns + 10 * MS);
}

/* The worker says how long the task has run. The task ends well, or fails, or has ended before the
 * worker could report it. */
static void adopted_task_has_its_real_start(void **state)
{
    (void)state;
    run_start_ns = 100 * SECOND;
    for (int how = 0; how < 3; how++) {
        struct row row = one_runs();
        row.claim = how == 2 ? GW_CLAIM_ENDED : GW_CLAIM_RUNS;
        row.ran_ns = 11 * SECOND;
        struct world *w = life_begin();
        connect_worker(w, WORKER, 7, &row, 1);
        if (how < 2) {
            expect_use(w, row.job, 11, 89 * SECOND);
            pass(w, SECOND);
        }
        if (how == 0)
            finish(w, 0, row.attempt, GW_RANK_NONE, 3);
        else
            tell_crash(w, WORKER, &row);
        life_commit(w);
        expect_use(w, row.job, how < 2 ? 12 : 11, 89 * SECOND);
        free_world(w);
    }
    run_start_ns = MS;
}

static void adopted_ranks_have_their_real_start(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    rows[0].ran_ns = 20 * SECOND;
    rows[1].ran_ns = 30 * SECOND;
    run_start_ns = 100 * SECOND;
    struct world *w = life_begin();
    for (uint32_t i = 0; i < 2; i++)
        connect_worker(w, WORKER + i, 7 + i, &rows[i], 1);
    pass(w, SECOND);
    expect_use(w, rows[0].job, 2 * (21 + 31), 70 * SECOND); /* 2 slots each */
    free_world(w);
    run_start_ns = MS;
}

/* The host of the scheduler was started later than the task. */
static void adopted_task_may_be_older_than_the_clock(void **state)
{
    (void)state;
    struct row row = one_runs();
    row.ran_ns = 50 * SECOND;
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, &row, 1);
    struct gw_value *job = ask(w, "job", (int64_t)row.job, -1);
    double seconds = 0;
    assert_int_equal(gw_value_get_f64(gw_value_find(job, "slot_seconds"), &seconds, NULL), 0);
    assert_true(seconds > 49.99 && seconds < 50.01);
    gw_value_unref(job);
    free_world(w);
}

/* cpu_ns: at the end of an attempt; so_far_ns: before. */
static void say_measured_so_far(struct world *w, const struct row *row, uint64_t bytes,
                                uint64_t cpu_ns, uint64_t so_far_ns)
{
    say(w, WORKER,
        (struct gw_message){
            .type = GW_MESSAGE_measured,
            .measured = {
                {&row->attempt, 1}, {&bytes, 1}, {&row->rank, 1}, {&cpu_ns, 1}, {&so_far_ns, 1}}});
}

static void say_measured(struct world *w, const struct row *row, uint64_t bytes, uint64_t cpu_ns)
{
    say_measured_so_far(w, row, bytes, cpu_ns, 0);
}

static void expect_measured(const struct world *w, uint64_t job, double cpu_seconds, int64_t bytes)
{
    struct gw_value *row = ask(w, "job", (int64_t)job, -1);
    double seconds = -1;
    int64_t peak = -1;
    (void)gw_value_get_f64(gw_value_find(row, "cpu_seconds"), &seconds, NULL);
    (void)gw_value_get_i64(gw_value_find(row, "peak_bytes"), &peak, NULL);
    gw_value_unref(row);
    assert_true(seconds == cpu_seconds);
    assert_int_equal(peak, bytes);
}

/* Ranks add their CPU time; the peak is that of one. */
static void cpu_time_of_ranks_is_added(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, rows, 2);
    say_measured(w, &rows[0], 3000, SECOND);
    say_measured(w, &rows[1], 2000, 2 * SECOND);
    expect_measured(w, rows[0].job, 3, 3000);
    free_world(w);
}

static void cpu_time_of_running_attempts_counts_once(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, rows, 2);
    say_measured_so_far(w, &rows[0], 3000, 0, SECOND);
    say_measured_so_far(w, &rows[1], 0, 0, 2 * SECOND);
    expect_measured(w, rows[0].job, 3, 3000);
    say_measured_so_far(w, &rows[1], 0, 0, 4 * SECOND);
    expect_measured(w, rows[0].job, 5, 3000);
    say_measured(w, &rows[1], 4000, 0); /* says nothing of CPU time */
    expect_measured(w, rows[0].job, 5, 4000);
    say_measured(w, &rows[1], 0, 6 * SECOND); /* it ends */
    expect_measured(w, rows[0].job, 7, 4000);
    free_world(w);
}

static void cpu_time_and_peak_survive_a_restart(void **state)
{
    (void)state;
    struct row row = one_runs();
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, &row, 1);
    say_measured(w, &row, 5000, 0);
    say_measured(w, &row, 0, 4 * SECOND);
    finish(w, 0, row.attempt, GW_RANK_NONE, 3);
    life_commit(w);
    expect_measured(w, row.job, 4, 5000);
    free_world(w);
    w = life_begin();
    expect_measured(w, row.job, 4, 5000);
    free_world(w);
}

/* Two of three tasks have ended, each after more than a second. */
static void use_of_ended_tasks_survives_a_restart(void **state)
{
    (void)state;
    run_start_ns = 100 * SECOND;
    life_facts.size = 0;
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, NULL, 0);
    life_commit(w);
    send_spec(w, (struct gw_msg_spec){.key = 1, .slots = 2});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(w);
    const uint64_t job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    for (int i = 0; i < 2; i++) {
        pass(w, 3 * SECOND);
        finish_after(w, 0, attempt, 3 * SECOND);
        attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        life_commit(w);
    }
    free_world(w);
    run_start_ns = 200 * SECOND;
    w = life_begin();
    expect_use(w, job, 2 * 2 * 3, 100 * SECOND);
    free_world(w);
    run_start_ns = MS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adopted_task_has_its_real_start),
        cmocka_unit_test(adopted_ranks_have_their_real_start),
        cmocka_unit_test(adopted_task_may_be_older_than_the_clock),
        cmocka_unit_test(cpu_time_of_ranks_is_added),
        cmocka_unit_test(cpu_time_of_running_attempts_counts_once),
        cmocka_unit_test(cpu_time_and_peak_survive_a_restart),
        cmocka_unit_test(use_of_ended_tasks_survives_a_restart),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gw_buffer_deinit(&life_facts);
    return failed;
}
