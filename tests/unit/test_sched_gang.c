/* Gangs that start again: budgets, workers that cool down, and what their users ask. */
#include "tests/unit/sched_world.h"

#define SECOND (1000 * MS)

static void submit_gang(struct world *w, uint64_t request, struct gw_msg_spec spec)
{
    spec.key = request;
    send_spec(w, spec);
    submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
}

static void pass(struct world *w, uint64_t ns)
{
    w->now_ns += ns;
    (void)step(w, (struct gw_event){.type = GW_EVENT_TICK});
}

static void ready(struct world *w, int worker, uint64_t attempt, uint32_t rank)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {attempt, rank, {"", 0}}});
}

/* Both ranks of a gang at one worker stand, and go. */
static uint64_t go(struct world *w, int worker)
{
    uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign), 0);
    ready(w, worker, attempt, 0);
    ready(w, worker, attempt, 1);
    must(w, WORKER + (uint64_t)worker, GW_MESSAGE_gang_go);
    return attempt;
}

static void rank_ended(struct world *w, int worker, struct gw_msg_ended ended)
{
    ended.text = ended.text ? ended.text : "";
    ended.stderr_tail = "";
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_ended, .ended = ended});
}

/* Rank 0 fails, and rank 1 is killed with it. */
static void fail_gang(struct world *w, int worker, uint64_t attempt)
{
    rank_ended(w, worker,
               (struct gw_msg_ended){
                   .attempt = attempt, .outcome = GW_OUTCOME_FAILED, .code = -1, .executing = 1});
    must(w, WORKER + (uint64_t)worker, GW_MESSAGE_kill);
    rank_ended(w, worker,
               (struct gw_msg_ended){.attempt = attempt, .rank = 1, .outcome = GW_OUTCOME_KILLED});
}

static void ask(struct world *w, uint64_t job)
{
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {77, job, GW_ASK_RESTART}});
}

static void explained(struct world *w, uint64_t job, const char *words)
{
    struct gw_value *arguments = gw_dict(), *answer;
    const char *text = "";
    gw_dict_set(arguments, "job", gw_i64((int64_t)job));
    gw_dict_set(arguments, "index", gw_i64(0));
    assert_int_equal(gw_sched_query(w->sched, "explain", arguments, &answer, NULL), 0);
    assert_int_equal(gw_value_get_str(answer, &text, NULL), 0);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    gw_value_unref(answer);
    gw_value_unref(arguments);
}

static void errors_of_its_own_take_its_restarts(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_gang(w, 1, (struct gw_msg_spec){.ranks = 2, .retries = 2});
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t attempt = go(w, 0);
        assert_true(attempt != last);
        last = attempt;
        fail_gang(w, 0, attempt);
    }
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.code, GW_ETASK);
    free_world(w);
}

static void what_an_earlier_attempt_says_is_no_news(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_gang(w, 1, (struct gw_msg_spec){.ranks = 2, .retries = 1});
    uint64_t first = go(w, 0);
    fail_gang(w, 0, first);
    uint64_t second = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    ready(w, 0, second, 0);
    ready(w, 0, first, 1);
    assert_null(sent(w, WORKER, GW_MESSAGE_gang_go, 0));
    ready(w, 0, second, 1);
    must(w, WORKER, GW_MESSAGE_gang_go);
    rank_ended(w, 0, (struct gw_msg_ended){.attempt = first, .outcome = GW_OUTCOME_FAILED});
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
    free_world(w);
}

static void a_restart_that_is_asked_for_has_its_own_budget(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_gang(w, 1,
                (struct gw_msg_spec){.ranks = 2, .preemptions_max = 1, .grace_ns = 5 * SECOND});
    for (int i = 0; i < 2; i++) {
        uint64_t attempt = go(w, 0);
        ask(w, 1);
        assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
        const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
        assert_int_equal(kill->grace_ns, 5 * SECOND);
        assert_int_equal(kill->reason, GW_KILL_PREEMPT);
        ask(w, 1); /* it is being ended */
        assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_ENOENT);
        finish(w, 0, attempt, 0, 1); /* it saved, and ended well: that is no result */
        rank_ended(
            w, 0,
            (struct gw_msg_ended){.attempt = attempt, .rank = 1, .outcome = GW_OUTCOME_KILLED});
    }
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_int_equal(failed->code, GW_ECANCELLED);
    assert_non_null(strstr(failed->text, "restarted by c"));
    free_world(w);
}

static void a_lost_worker_is_another_budget(void **state)
{
    struct world *w = new_world();
    (void)state;
    submit_gang(w, 1, (struct gw_msg_spec){.ranks = 2, .losses_max = 1});
    for (int i = 0; i < 2; i++) {
        add_worker(w, i, 2, i ? "b" : "a");
        (void)go(w, i);
        (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)i}});
    }
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.code, GW_ELOST);
    free_world(w);
}

/* Loses worker 0, which comes back at once as the next number. */
static void lose(struct world *w, int number)
{
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)number}});
    add_worker(w, number + 1, 2, "a");
}

static void a_worker_that_was_lost_cools_down(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_gang(w, 1, (struct gw_msg_spec){.ranks = 2});
    for (int i = 0; i < 3; i++) { /* 1 s, 2 s, 4 s */
        (void)go(w, i);
        lose(w, i);
        assert_null(sent(w, WORKER + (uint64_t)i + 1, GW_MESSAGE_assign, 0));
        explained(w, 1, "take no ranks: a, for ");
        pass(w, (SECOND << i) - MS);
        assert_null(sent(w, WORKER + (uint64_t)i + 1, GW_MESSAGE_assign, 0));
        assert_true(gw_sched_deadline_ns(w->sched) <= w->now_ns + MS);
        pass(w, MS);
    }
    uint64_t attempt = go(w, 3);
    finish(w, 3, attempt, 0, 1);
    finish(w, 3, attempt, 1, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    submit_gang(w, 2, (struct gw_msg_spec){.ranks = 2}); /* that it ended well is what counts now */
    (void)go(w, 3);
    lose(w, 3);
    pass(w, SECOND);
    must(w, WORKER + 4, GW_MESSAGE_assign);
    free_world(w);
}

static void others_take_the_ranks_meanwhile(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_gang(w, 1, (struct gw_msg_spec){.ranks = 2});
    (void)go(w, 0);
    lose(w, 0);
    send_spec(w, (struct gw_msg_spec){.key = 2}); /* what is no gang runs there */
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    add_worker(w, 2, 2, "b");
    (void)go(w, 2);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_its_own_take_its_restarts),
        cmocka_unit_test(what_an_earlier_attempt_says_is_no_news),
        cmocka_unit_test(a_restart_that_is_asked_for_has_its_own_budget),
        cmocka_unit_test(a_lost_worker_is_another_budget),
        cmocka_unit_test(a_worker_that_was_lost_cools_down),
        cmocka_unit_test(others_take_the_ranks_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
