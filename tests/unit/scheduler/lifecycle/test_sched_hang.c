/* Gangs whose ranks stand still, and which end is the cause of the others. */
#include "scheduler/core/lifecycle/hang.h"
#include "tests/unit/scheduler/gang_world.h"

#define SECOND (1000 * MS)

static void hang(const struct gw_rank_state *ranks, uint32_t count, const char *wanted)
{
    char text[256] = "nobody";
    uint32_t named = GW_RANK_NONE;
    bool hangs = gw_sched_hang_text(ranks, count, text, sizeof text, &named);
    assert_string_equal(text, wanted);
    assert_int_equal(hangs, strcmp(wanted, "nobody") != 0);
}

static void hang_report_names_the_hanging_ranks(void **state)
{
    (void)state;
    hang((struct gw_rank_state[]){{0, 1042, "all_reduce", false, NULL},
                                  {1, 1042, "all_reduce", false, NULL},
                                  {3, 1041, "all_reduce", false, NULL}},
         3, "rank 3 hangs: it is in all_reduce 1041, the others are in all_reduce 1042");
    hang((struct gw_rank_state[]){{0, 7, "broadcast", false, NULL}, {1, 6, "", false, NULL}}, 2,
         "rank 1 hangs: it is in no collective (6 so far), the other is in broadcast 7");
    hang((struct gw_rank_state[]){{0, 7, "barrier", false, NULL},
                                  {1, 0, "", false, NULL},
                                  {2, 0, "", false, NULL}},
         3, "rank 1, 2 hang: they are in no collective yet, the other is in barrier 7");
    hang((struct gw_rank_state[]){{0, 5, "all_reduce", false, NULL},
                                  {1, 5, "all_reduce", true, NULL}},
         2,
         "rank 1 hangs: it is stopped (SIGSTOP, or a job control signal), the other is in "
         "all_reduce 5");
    hang((struct gw_rank_state[]){{0, 0, "", true, NULL}, {1, 0, "", true, NULL}}, 2,
         "rank 0, 1 hang: they are stopped (SIGSTOP, or a job control signal)");
    hang((struct gw_rank_state[]){{0, 5, "", false, NULL}, {1, 5, "broadcast", false, NULL}}, 2,
         "rank 1 hangs: it is in broadcast 5, the other is in no collective (5 so far)");
    hang((struct gw_rank_state[]){{0, 5, "all_reduce", false, NULL},
                                  {1, 5, "all_reduce", false, NULL}},
         2, "nobody"); /* a collective's own deadline ends it */
    hang((struct gw_rank_state[]){{0, 5, "", false, NULL}, {1, 9, "", false, NULL}}, 2,
         "nobody"); /* the ranks work */
}

/* Each distinct stack is a line; the hanging ranks come first. */
static void hang_report_groups_ranks_by_stack(void **state)
{
    char text[256];
    const struct gw_rank_state ranks[] = {{0, 5, "all_reduce", false, "wait (ring.c:7)"},
                                          {1, 4, "", false, "load (data.c:3), train (train.c:9)"},
                                          {2, 5, "all_reduce", false, "wait (ring.c:7)"},
                                          {3, 5, "all_reduce", false, NULL},
                                          {4, 4, "", false, "wait (ring.c:7)"}};
    (void)state;
    gw_sched_hang_stacks(ranks, 5, text, sizeof text);
    assert_string_equal(text, "rank 1: load (data.c:3), train (train.c:9)\n"
                              "rank 4: wait (ring.c:7)\n"
                              "rank 0, 2: wait (ring.c:7)\n");
    gw_sched_hang_stacks(ranks, 5, text, 60); /* whole lines only */
    assert_string_equal(text, "rank 1: load (data.c:3), train (train.c:9)\n");
    gw_sched_hang_stacks(ranks, 0, text, sizeof text);
    assert_string_equal(text, "");
    struct gw_rank_state many[20];
    for (uint32_t i = 0; i < 20; i++)
        many[i] = (struct gw_rank_state){i, 0, "", true, "pause (x.c:1)"};
    gw_sched_hang_stacks(many, 20, text, sizeof text);
    assert_string_equal(text, "rank 0, 1, 2, 3, 4, 5, 6, 7 and 12 more: pause (x.c:1)\n");
}

static void stuck_at(struct world *w, uint32_t peer, const struct gw_msg_gang_stuck *said)
{
    say(w, peer, (struct gw_message){.type = GW_MESSAGE_gang_stuck, .gang_stuck = *said});
}

static void stuck(struct world *w, uint64_t attempt, uint32_t first, uint32_t count, bool closely)
{
    uint32_t rank[] = {first, first + 1}, flags[] = {count == 1, 0}, sizes[] = {0, 10};
    uint32_t stacks[] = {closely ? 10 : 0, closely ? 10 : 0};
    uint64_t begun[] = {4, 5};
    stuck_at(
        w, WORKER,
        &(struct gw_msg_gang_stuck){.attempt = attempt,
                                    .rank = {rank, count},
                                    .begun = {begun, count},
                                    .stopped = {flags, count},
                                    .operation_size = {sizes, count},
                                    .operations = {"all_reduce", count == 2 ? 10 : 0},
                                    .closely = closely,
                                    .stack_size = {stacks, count},
                                    .stacks = {"in a placein another", stacks[0] + stacks[1]}});
}

static void prints(struct world *w, uint32_t peer, uint64_t attempt, uint32_t rank)
{
    say(w, peer,
        (struct gw_message){
            .type = GW_MESSAGE_printed,
            .printed = {.attempt = attempt, .rank = rank, .stream = 2, .data = {"hello\n", 6}}});
}

/* Only the worker that runs the rank may send its output. */
static void printed_output_reaches_the_client_of_the_task(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 1, "b");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    uint64_t job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    uint64_t attempt = go(w, 0);
    prints(w, WORKER + 1, attempt, 1);
    prints(w, WORKER, attempt + 1000, 1);
    assert_null(sent(w, CLIENT, GW_MESSAGE_printed, 0));
    prints(w, WORKER, attempt, 1);
    const struct gw_msg_printed *told = &must(w, CLIENT, GW_MESSAGE_printed)->printed;
    assert_int_equal(told->job, job);
    assert_true(told->index == 0 && told->rank == 1 && told->stream == 2);
    assert_memory_equal(told->data.data, "hello\n", 6);
    free_world(w);
}

static void hanging_gang_is_inspected_and_ended(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .hang_timeout_ns = SECOND});
    uint64_t attempt = go(w, 0);
    stuck(w, attempt, 0, 1, false); /* one of two: the other rank moves */
    assert_null(sent(w, WORKER, GW_MESSAGE_gang_look, 0));
    stuck(w, attempt, 0, 0, false); /* the rank moves again */
    stuck(w, attempt, 0, 2, false);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang_look)->gang_look.attempt, attempt);
    stuck(w, attempt, 0, 2, false); /* the worker was asked before */
    assert_null(sent(w, WORKER, GW_MESSAGE_gang_look, 0));
    stuck(w, attempt, 0, 0, false); /* the rank moved during the inspection: it hangs later */
    stuck(w, attempt, 0, 2, false);
    must(w, WORKER, GW_MESSAGE_gang_look);
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
    stuck(w, attempt, 0, 2, true);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_GANG);
    explained(w, 1, "it ends because of this: rank 0 hangs: it is in no collective (4 so far)");
    for (uint32_t rank = 0; rank < 2; rank++)
        attempt_ended(
            w, 0,
            (struct gw_msg_ended){.attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED});
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_non_null(strstr(failed->text,
                           "rank 0 on a: rank 0 hangs: it is in no collective (4 "
                           "so far), the other is in all_reduce 5\nrank 0: in a place\n"
                           "rank 1: in another\n"
                           "full stacks: gangway logs 1/0 --rank 0"));
    free_world(w);
}

/* Rank 0 at worker 0 and rank 1 at worker 1; returns the running attempt. */
static uint64_t go_apart(struct world *w, struct gw_msg_spec spec)
{
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    submit_task(w, 1, spec);
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    must(w, WORKER + 1, GW_MESSAGE_assign);
    ready(w, 0, attempt, 0);
    ready(w, 1, attempt, 1);
    must(w, WORKER + 1, GW_MESSAGE_gang_start);
    return attempt;
}

/* A rank that is not ready in time is inspected before its gang is ended, because its process
 * may be stopped. */
static void late_rank_is_inspected_before_its_gang_ends(void **state)
{
    (void)state;
    for (int answers = 0; answers < 3; answers++) {
        struct world *w = new_world();
        add_worker(w, 0, 3, "a");
        submit_task(w, 1, (struct gw_msg_spec){.ranks = 3});
        uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        ready(w, 0, attempt, 0);
        assert_null(sent(w, WORKER, GW_MESSAGE_gang_look, 0));
        for (int i = 0; i < 6; i++) {
            say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat});
            pass(w, 10 * SECOND);
        }
        assert_int_equal(must(w, WORKER, GW_MESSAGE_gang_look)->gang_look.attempt, attempt);
        assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
        say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat});
        uint32_t ranks[] = {1, 2}, stopped[] = {0, 1}, none[] = {0, 0}, stacks[] = {4, 5};
        uint64_t begun[] = {0, 0};
        if (answers == 1)
            stuck_at(w, WORKER,
                     &(struct gw_msg_gang_stuck){.attempt = attempt,
                                                 .rank = {ranks, 2},
                                                 .begun = {begun, 2},
                                                 .stopped = {stopped, 2},
                                                 .operation_size = {none, 2},
                                                 .operations = {"", 0},
                                                 .closely = 2,
                                                 .stack_size = {stacks, 2},
                                                 .stacks = {"loadpause", 9}});
        else if (answers == 0)
            pass(w, GW_HANG_LOOK_NS);
        if (answers == 2) { /* the stacks still arrive */
            ready(w, 0, attempt, 1);
            ready(w, 0, attempt, 2);
            must(w, WORKER, GW_MESSAGE_gang_start);
            free_world(w);
            continue;
        }
        assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_GANG);
        for (uint32_t rank = 0; rank < 3; rank++)
            attempt_ended(w, 0,
                          (struct gw_msg_ended){
                              .attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED});
        const char *text = must(w, CLIENT, GW_MESSAGE_failed)->failed.text;
        const char *wanted =
            answers ? "rank 2 on a: the rank did not become ready in 1m: its process is "
                      "stopped (SIGSTOP, or a job control signal)\nrank 1: load\n"
                      "rank 2: pause"
                    : "rank 1 on a: the rank did not become ready in 1m";
        assert_non_null(strstr(text, wanted));
        free_world(w);
    }
}

/* The scheduler asks all workers for the stacks of their ranks and waits for all answers. */
static void hang_inspection_waits_for_all_workers(void **state)
{
    struct world *w = new_world();
    (void)state;
    uint64_t attempt = go_apart(w, (struct gw_msg_spec){.ranks = 2, .hang_timeout_ns = SECOND});
    for (int closely = 0; closely < 2; closely++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            uint32_t none = 0, size = rank ? 10 : 0, stack = closely ? 4 : 0;
            uint64_t begun = 4 + rank;
            stuck_at(w, WORKER + rank,
                     &(struct gw_msg_gang_stuck){.attempt = attempt,
                                                 .rank = {&rank, 1},
                                                 .begun = {&begun, 1},
                                                 .stopped = {&none, 1},
                                                 .operation_size = {&size, 1},
                                                 .operations = {"all_reduce", size},
                                                 .closely = (uint32_t)closely,
                                                 .stack_size = {&stack, 1},
                                                 .stacks = {rank ? "ring" : "disk", stack}});
            for (uint32_t of = 0; of < 2; of++)
                assert_int_equal(!closely && rank,
                                 sent(w, WORKER + of, GW_MESSAGE_gang_look, 0) != NULL);
            if (!closely || !rank)
                assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
        }
    for (uint32_t rank = 0; rank < 2; rank++)
        must(w, WORKER + rank, GW_MESSAGE_kill);
    for (uint32_t rank = 0; rank < 2; rank++)
        attempt_ended(
            w, (int)rank,
            (struct gw_msg_ended){.attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED});
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_non_null(strstr(failed->text, "rank 0: disk\nrank 1: ring\n"));
    free_world(w);
}

/* Rank 0 ends by an error, which is reported first; rank 1 ends as the caller says (an outcome of
 * 0: its worker is lost). Returns the error text, or that there is none. */
static const char *told_first(struct world *w, struct gw_msg_ended error, struct gw_msg_ended other)
{
    error.attempt = other.attempt = go_apart(w, (struct gw_msg_spec){.ranks = 2});
    error.executing = other.executing = 1;
    other.rank = 1;
    attempt_ended(w, 0, error);
    must(w, WORKER + 1, GW_MESSAGE_kill);
    if (other.outcome)
        attempt_ended(w, 1, other);
    else
        (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 1}});
    const struct gw_message *message = sent(w, CLIENT, GW_MESSAGE_failed, 0);
    return message ? message->failed.text : "it may start again";
}

static void late_report_of_a_killed_rank_becomes_the_cause(void **state)
{
    const struct gw_msg_ended error = {
        .outcome = GW_OUTCOME_CRASHED, .exit_code = 3, .text = "exit code 3"};
    const struct gw_msg_ended returned = {
        .outcome = GW_OUTCOME_FAILED, .code = GW_EABORTED, .text = "aborted"};
    const struct gw_msg_ended crash = {
        .outcome = GW_OUTCOME_CRASHED, .signal = 11, .text = "signal 11"};
    const struct gw_msg_ended killed = {
        .outcome = GW_OUTCOME_CRASHED, .signal = 9, .text = "signal 9"};
    const struct {
        struct gw_msg_ended first, second;
        const char *cause;
    } cases[] = {
        {error, killed, "rank 1 on b: signal 9"},
        {returned, killed, "rank 1 on b: signal 9"},
        {error, {.outcome = GW_OUTCOME_OOM, .text = "out of memory"}, "rank 1 on b: out of memory"},
        {error,
         {.outcome = 0},
         "it may start again"}, /* counts against the budget of worker losses */
        {error, {.outcome = GW_OUTCOME_KILLED, .text = "another rank ended"}, "rank 0 on a: exit"},
        {error, crash, "rank 0 on a: exit code 3"}, /* a program may also end itself in this way */
        {error, error, "rank 0 on a: exit code 3"},
        {crash, killed,
         "rank 0 on a: signal 11"}, /* the death of one rank does not make others crash */
        {killed, killed, "rank 0 on a: signal 9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = new_world();
        const char *text = told_first(w, cases[i].first, cases[i].second);
        if (!strstr(text, cases[i].cause))
            fail_msg("case %zu: %s", i, text);
        free_world(w);
    }
}

/* Each rank has a supervisor of its own, and the reports arrive in any order. Of two errors the
 * first report counts; a worker that is lost after its report of an error is no cause. */
static void kill_is_the_cause_if_ranks_share_a_host(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    uint64_t attempt = go(w, 0);
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .outcome = GW_OUTCOME_CRASHED,
                                        .exit_code = 3,
                                        .executing = 1,
                                        .text = "exit code 3"});
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = 1,
                                        .outcome = GW_OUTCOME_CRASHED,
                                        .signal = 9,
                                        .executing = 1,
                                        .text = "signal 9"});
    const char *text = must(w, CLIENT, GW_MESSAGE_failed)->failed.text;
    assert_non_null(strstr(text, "rank 1 on a: signal 9"));
    free_world(w);

    w = new_world();
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    attempt = go(w, 0);
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .outcome = GW_OUTCOME_CRASHED,
                                        .exit_code = 3,
                                        .executing = 1,
                                        .text = "exit code 3"});
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
    text = must(w, CLIENT, GW_MESSAGE_failed)->failed.text;
    assert_non_null(strstr(text, "rank 0 on a: exit code 3"));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hang_report_names_the_hanging_ranks),
        cmocka_unit_test(hang_report_groups_ranks_by_stack),
        cmocka_unit_test(hanging_gang_is_inspected_and_ended),
        cmocka_unit_test(printed_output_reaches_the_client_of_the_task),
        cmocka_unit_test(late_rank_is_inspected_before_its_gang_ends),
        cmocka_unit_test(hang_inspection_waits_for_all_workers),
        cmocka_unit_test(late_report_of_a_killed_rank_becomes_the_cause),
        cmocka_unit_test(kill_is_the_cause_if_ranks_share_a_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
