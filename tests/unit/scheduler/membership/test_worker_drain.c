/* Drained workers: what an admin or a health check drains, what survives, and the deadline. */
#include "scheduler/core/model/state.h"
#include "tests/unit/scheduler/gang_world.h"
#include "tests/unit/scheduler/sched_life.h"

#define SECOND (1000 * MS)

enum { ADMIN = CLIENT + 1 };

static void connect_admin(struct world *w)
{
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {ADMIN},
                                    .role = GW_ROLE_CLIENT,
                                    .admin = true,
                                    .text = "ops"});
}

static struct world *begin(void)
{
    struct world *w = new_world();
    connect_admin(w);
    add_worker(w, 0, 2, "a");
    return w;
}

static void ask_worker(struct world *w, uint64_t peer, struct gw_msg_worker_ask ask)
{
    ask.request = 9;
    ask.why = ask.why ? ask.why : "";
    say(w, peer, (struct gw_message){.type = GW_MESSAGE_worker_ask, .worker_ask = ask});
}

static void drain(struct world *w, uint64_t deadline_ns)
{
    ask_worker(w, ADMIN,
               (struct gw_msg_worker_ask){
                   .name = "a", .drain = 1, .why = "kernel", .deadline_ns = deadline_ns});
}

static void assert_state(struct world *w, const char *wanted, const char *why)
{
    struct gw_value *answer;
    const char *state = "", *drained = "";
    assert_int_equal(gw_sched_query(w->sched, "workers", NULL, &answer, NULL), 0);
    const struct gw_value *row = gw_value_at(answer, 0);
    assert_int_equal(gw_value_get_str(gw_value_find(row, "state"), &state, NULL), 0);
    (void)gw_value_get_str(gw_value_find(row, "drained"), &drained, NULL);
    assert_string_equal(state, wanted);
    assert_string_equal(drained, why);
    gw_value_unref(answer);
}

static void health(struct world *w, const char *why)
{
    say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_health, .health = {why, .clock = ""}});
}

/* A worker reports that its clock differs by this much from the scheduler's. */
static void differ(struct world *w, int worker, int32_t clock_s)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_health,
                            .health = {"", .clock = clock_s ? "clock" : "", .clock_s = clock_s}});
}

static int64_t drained_workers(struct world *w)
{
    struct gw_value *answer;
    int64_t count = 0;
    assert_int_equal(gw_sched_query(w->sched, "status", NULL, &answer, NULL), 0);
    (void)gw_value_get_i64(gw_value_find(answer, "workers_drained"), &count, NULL);
    gw_value_unref(answer);
    return count;
}

static void assert_clock(struct world *w, const char *wanted)
{
    struct gw_value *answer;
    const char *text = "";
    assert_int_equal(gw_sched_query(w->sched, "status", NULL, &answer, NULL), 0);
    (void)gw_value_get_str(gw_value_find(answer, "clock_trouble"), &text, NULL);
    assert_string_equal(text, wanted);
    gw_value_unref(answer);
}

static void drained_worker_returns_what_waits_and_takes_nothing(void **state)
{
    struct world *w = begin();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){0});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    ask_worker(w, CLIENT, (struct gw_msg_worker_ask){.name = "a", .drain = 1});
    assert_state(w, "ready", "");
    drain(w, UINT64_MAX);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_TAKE_BACK);
    assert_state(w, "draining", "drained by ops (user 0): kernel");
    submit_task(w, 2, (struct gw_msg_spec){0});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 0, attempt, GW_RANK_NONE, 1);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    assert_state(w, "drained", "drained by ops (user 0): kernel");
    explained_of(w, 2, 0, "drained workers take no tasks: a");
    ask_worker(w, ADMIN, (struct gw_msg_worker_ask){.name = "a"});
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

static void deadline_ends_tasks_and_gangs_and_counts_against_no_budget(void **state)
{
    struct world *w = begin();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){.grace_ns = 3 * SECOND, .worker_losses_max = 2});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    drain(w, 5 * SECOND);
    pass(w, 4 * SECOND);
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
    pass(w, SECOND);
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->reason, GW_KILL_PREEMPT);
    assert_int_equal(kill->grace_ns, 3 * SECOND);
    pass(w, SECOND);
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0)); /* it is asked once */
    add_worker(w, 1, 2, "b");
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_KILLED,
                                        .executing = 1});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    assert_true(event_log_says(w, 1, "drained by ops (user 0): kernel"));
    free_world(w);
}

/* The next attempt has the place in the table that the ended attempt had. */
static void deadline_ends_the_next_attempt_too(void **state)
{
    struct world *w = begin();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){0});
    for (int i = 0; i < 2; i++) {
        const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        drain(w, 1);
        pass(w, MS);
        assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_PREEMPT);
        attempt_ended(w, 0,
                      (struct gw_msg_ended){.attempt = attempt,
                                            .rank = GW_RANK_NONE,
                                            .outcome = GW_OUTCOME_KILLED,
                                            .executing = 1});
        ask_worker(w, ADMIN, (struct gw_msg_worker_ask){.name = "a"});
    }
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

static void gang_at_the_deadline_of_one_worker_starts_again(void **state)
{
    struct world *w = begin();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    const uint64_t attempt = go(w, 0);
    drain(w, 1);
    pass(w, MS);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_PREEMPT);
    add_worker(w, 1, 2, "b");
    for (uint32_t rank = 0; rank < 2; rank++)
        attempt_ended(
            w, 0,
            (struct gw_msg_ended){
                .attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED, .executing = 1});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    free_world(w);
}

static void passing_check_undrains_only_what_a_check_drained(void **state)
{
    struct world *w = begin();
    (void)state;
    health(w, "the disk is full");
    assert_state(w, "drained", "drained by its health check: the disk is full");
    health(w, "");
    assert_state(w, "ready", "");
    health(w, "the disk is full");
    drain(w, UINT64_MAX);
    health(w, "");
    assert_state(w, "drained", "drained by ops (user 0): kernel");
    health(w, "the clock is wrong");
    assert_state(w, "drained", "drained by ops (user 0): kernel");
    free_world(w);
}

static void register_as(struct world *w, uint64_t incarnation)
{
    w->sequence[WORKER] = 0;
    (void)step(w,
               (struct gw_event){
                   .type = GW_EVENT_OPEN, .peer = {WORKER}, .role = GW_ROLE_WORKER, .text = "a"});
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = incarnation,
                                             .slots = 2,
                                             .machine = "m",
                                             .host = "m",
                                             .address = "m"}});
    life_commit(w);
}

static void worker_stays_drained_across_restarts(void **state)
{
    struct world *w = life_begin();
    (void)state;
    connect_admin(w);
    register_as(w, 1);
    drain(w, UINT64_MAX);
    life_commit(w);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
    life_commit(w);
    register_as(w, 2);
    assert_state(w, "drained", "drained by ops (user 0): kernel");
    free_world(w);
    w = life_begin();
    register_as(w, 3);
    assert_state(w, "drained", "drained by ops (user 0): kernel");
    free_world(w);
    gw_buffer_deinit(&life_facts);
    life_facts = (struct gw_buffer){0};
}

static void worker_whose_clock_differs_is_drained(void **state)
{
    struct world *w = begin();
    (void)state;
    differ(w, 0, 20);
    assert_state(w, "drained", "drained by its health check: clock");
    add_worker(w, 1, 2, "b");
    differ(w, 1, -20); /* and the other one in the other direction */
    assert_int_equal(drained_workers(w), 2);
    assert_clock(w, "");
    differ(w, 0, 0);
    assert_state(w, "ready", "");
    free_world(w);
}

static void wrong_clock_of_the_scheduler_drains_no_worker(void **state)
{
    struct world *w = begin();
    (void)state;
    add_worker(w, 1, 2, "b");
    add_worker(w, 2, 2, "c");
    differ(w, 2, 15);
    differ(w, 0, -20);
    assert_int_equal(drained_workers(w), 2); /* which clock is wrong is not known yet */
    differ(w, 1, -30);
    assert_int_equal(drained_workers(w), 1);
    assert_state(w, "ready", "");
    assert_clock(w, "it is at least 20 s ahead of the clocks of 2 of 3 workers: set it, for "
                    "example by NTP");
    health(w, "disk"); /* and its clock is well */
    assert_state(w, "drained", "drained by its health check: disk");
    assert_int_equal(drained_workers(w), 3);
    assert_clock(w, "");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_whose_clock_differs_is_drained),
        cmocka_unit_test(wrong_clock_of_the_scheduler_drains_no_worker),
        cmocka_unit_test(drained_worker_returns_what_waits_and_takes_nothing),
        cmocka_unit_test(deadline_ends_tasks_and_gangs_and_counts_against_no_budget),
        cmocka_unit_test(deadline_ends_the_next_attempt_too),
        cmocka_unit_test(gang_at_the_deadline_of_one_worker_starts_again),
        cmocka_unit_test(passing_check_undrains_only_what_a_check_drained),
        cmocka_unit_test(worker_stays_drained_across_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
