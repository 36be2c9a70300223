/* What a restarted scheduler adopts of tasks that follow each other: the end of the first is not on
 * disk, and the second was placed already. */
#include "tests/unit/scheduler/membership/claims.h"

/* A scheduler run that ends when the first of two chained tasks has ended and the second was
 * placed; the end of the first is not on disk. */
static void chain_runs(struct row rows[2])
{
    life_facts.size = 0;
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, NULL, 0);
    life_commit(w);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, true, 0});
    for (uint32_t i = 0; i < 2; i++)
        rows[i] = (struct row){.rank = GW_RANK_NONE, .index = i, .claim = GW_CLAIM_RUNS};
    rows[0].attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(w);
    rows[0].job = rows[1].job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    finish(w, 0, rows[0].attempt, GW_RANK_NONE, 3);
    rows[1].attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    free_world(w);
}

static void assert_ended_well(struct world *w, uint64_t job)
{
    life_commit(w);
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_wait, .wait = {2, job}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
}

/* The claim of the second task arrives with that of the first, in any order. */
static void adopted_successor_waits_for_the_end_of_its_input(void **state)
{
    (void)state;
    for (uint32_t turned = 0; turned < 2; turned++)
        for (uint32_t kind = GW_CLAIM_RUNS; kind <= GW_CLAIM_ENDED; kind++) {
            struct row rows[2];
            chain_runs(rows);
            const struct row first = rows[0], second = rows[1];
            rows[turned] = first;
            rows[turned].claim = GW_CLAIM_ENDED;
            rows[1 - turned] = second;
            rows[1 - turned].claim = kind;
            struct world *w = life_begin();
            connect_worker(w, WORKER, 7, rows, 2);
            assert_false(killed(w, second.attempt));
            finish(w, 0, first.attempt, GW_RANK_NONE, 3);
            assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
            assert_false(killed(w, second.attempt));
            finish(w, 0, second.attempt, GW_RANK_NONE, 3);
            assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
            assert_ended_well(w, first.job);
            free_world(w);
        }
}

/* A task that is queued behind a running task in a runner may start before a kill could arrive.
 * Until then its worker gets other work. */
static void queued_task_in_a_runner_is_adopted(void **state)
{
    (void)state;
    struct row rows[2];
    chain_runs(rows);
    rows[1].claim = GW_CLAIM_WAITS;
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, rows, 2);
    assert_false(killed(w, rows[1].attempt));
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    assert_int_not_equal(gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0),
                         rows[0].job);
    finish(w, 0, rows[0].attempt, GW_RANK_NONE, 3);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 0, rows[1].attempt, GW_RANK_NONE, 3);
    assert_ended_well(w, rows[0].job);
    free_world(w);
}

/* The first task ran at another worker, which reconnects later; the second may have ended by
 * then. */
static void adopted_successor_waits_for_the_worker_of_its_input(void **state)
{
    (void)state;
    for (uint32_t ended = 0; ended < 2; ended++) {
        struct row rows[2];
        chain_runs(rows);
        rows[0].claim = GW_CLAIM_ENDED;
        struct world *w = life_begin();
        for (uint32_t i = 0; i < 2; i++) { /* so that both are known */
            connect_worker(w, WORKER + i, 7 + i, NULL, 0);
            life_commit(w);
        }
        free_world(w);
        w = life_begin();
        connect_worker(w, WORKER + 1, 8, &rows[1], 1);
        life_commit(w);
        assert_null(sent(w, WORKER + 1, GW_MESSAGE_kill, 0));
        if (ended)
            finish(w, 1, rows[1].attempt, GW_RANK_NONE, 3);
        connect_worker(w, WORKER, 7, &rows[0], 1);
        assert_null(sent(w, WORKER + 1, GW_MESSAGE_kill, 0));
        finish(w, 0, rows[0].attempt, GW_RANK_NONE, 3);
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
        assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
        if (!ended)
            finish(w, 1, rows[1].attempt, GW_RANK_NONE, 3);
        assert_ended_well(w, rows[0].job);
        free_world(w);
    }
}

/* No worker reports the end of the first task, so both tasks run again, one after the other. */
static void successor_is_killed_if_its_input_is_not_reported(void **state)
{
    (void)state;
    struct row rows[2];
    chain_runs(rows);
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, &rows[1], 1);
    assert_true(killed(w, rows[1].attempt));
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = rows[1].attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_KILLED});
    const uint64_t again = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    finish(w, 0, again, GW_RANK_NONE, 3);
    finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 3);
    assert_ended_well(w, rows[0].job);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adopted_successor_waits_for_the_end_of_its_input),
        cmocka_unit_test(queued_task_in_a_runner_is_adopted),
        cmocka_unit_test(adopted_successor_waits_for_the_worker_of_its_input),
        cmocka_unit_test(successor_is_killed_if_its_input_is_not_reported),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gw_buffer_deinit(&life_facts);
    return failed;
}
