/* The worker's core, runs that go to a runner before what they take is known to have been made. */
#include "tests/unit/node_world.h"

enum { TAKES_MAX = 2, ROWS_MAX = 8 };

/* Attempts from 10 on, of tasks of the same numbers: what each takes, 0: nothing. */
struct rows {
    uint64_t takes[ROWS_MAX][TAKES_MAX];
    uint32_t count;
};

static void assign_rows(struct world *w, const struct rows *rows)
{
    uint64_t job[ROWS_MAX * TAKES_MAX], attempt[ROWS_MAX], dep_bytes[ROWS_MAX * TAKES_MAX];
    uint32_t index[ROWS_MAX], zero[ROWS_MAX * TAKES_MAX] = {0}, one[ROWS_MAX], rank[ROWS_MAX];
    uint32_t dep_count[ROWS_MAX] = {0}, dep_index[ROWS_MAX * TAKES_MAX];
    uint32_t here[ROWS_MAX * TAKES_MAX], deps = 0, n = rows->count;
    for (uint32_t i = 0; i < n; i++) {
        attempt[i] = index[i] = 10 + i;
        one[i] = 1;
        rank[i] = GW_RANK_NONE;
        for (uint32_t d = 0; d < TAKES_MAX && rows->takes[i][d]; d++, deps++, dep_count[i]++) {
            dep_bytes[deps] = rows->takes[i][d];
            dep_index[deps] = (uint32_t)rows->takes[i][d];
            here[deps] = GW_DEP_HERE;
        }
    }
    for (uint32_t i = 0; i < ROWS_MAX * TAKES_MAX; i++)
        job[i] = 1;
    struct gw_message message = {.type = GW_MESSAGE_assign};
    message.assign = (struct gw_msg_assign){
        .job = {job, n},
        .index = {index, n},
        .spec = {zero, n},
        .attempt = {attempt, n},
        .try_number = {zero, n},
        .rank = {rank, n},
        .gpu_count = {zero, n},
        .args_size = {one, n},
        .args = bin("\x90\x90\x90\x90\x90\x90\x90\x90", n),
        .dep_count = {dep_count, n},
        .dep_job = {job, deps},
        .dep_index = {dep_index, deps},
        .dep_rank = {zero, deps},
        .dep_bytes = {dep_bytes, deps},
        .dep_worker = {here, deps},
        .dep_value_size = {zero, deps},
    };
    deliver(w, SCHEDULER, message);
}

/* Two runners, 1 and 2, that have nothing to do, and know of tasks that they are short. */
static struct world *world_idle(void)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    spawned(w, 2, 0, "");
    hello(w, 2, GW_PROTOCOL);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(finish(w, 2, 2, GW_RANK_NONE, 0, 1000), 0);
    forget_sent(w);
    return w;
}

/* Tasks 10 and 11, one at each, and 12 and 13 that take both. */
static struct world *world_ahead(void)
{
    struct world *w = world_idle();
    assign_rows(w, &(struct rows){.takes = {{0}, {0}, {10, 11}, {10, 11}}, .count = 4});
    return w;
}

/* Says what an attempt has made: one byte. */
static void made(struct world *w, uint64_t process, uint64_t attempt, char value)
{
    uint32_t rank = GW_RANK_NONE, size = 1;
    uint64_t bytes = 1, run_ns = 1000;
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){
        .attempt = {&attempt, 1},
        .rank = {&rank, 1},
        .bytes = {&bytes, 1},
        .value_size = {&size, 1},
        .values = bin(&value, 1),
        .run_ns = {&run_ns, 1},
    };
    assert_int_equal(deliver_with(w, RUNNER + process, message, NULL, 0), 0);
}

/* Where an attempt was sent, last: the process, 0: nowhere; and its inputs there. */
struct sending {
    uint64_t process;
    uint32_t deps, worker[TAKES_MAX];
    uint64_t bytes[TAKES_MAX];
    char value[TAKES_MAX]; /* of one byte each; 0: it comes in another way */
};

static struct sending sending_of(const struct world *w, uint64_t attempt)
{
    struct sending found = {0};
    for (size_t m = 0; m < w->sent.count; m++) {
        const struct gw_msg_assign *a = &w->sent.items[m].assign;
        if (w->sent.items[m].type != GW_MESSAGE_assign)
            continue;
        const char *values = a->dep_values.data;
        for (uint32_t i = 0, at = 0; i < a->attempt.count; i++) {
            struct sending one = {.process = w->sent_to.items[m] - RUNNER};
            for (; one.deps < gw_col32_at(a->dep_count, i); one.deps++, at++) {
                one.worker[one.deps] = gw_col32_at(a->dep_worker, at);
                one.bytes[one.deps] = gw_col64_at(a->dep_bytes, at);
                one.value[one.deps] = 0;
                if (gw_col32_at(a->dep_value_size, at) == 1)
                    one.value[one.deps] = *values;
                values += gw_col32_at(a->dep_value_size, at);
            }
            if (gw_col64_at(a->attempt, i) == attempt)
                found = one;
        }
    }
    return found;
}

/* The place of what an attempt makes, as it was given last; 0: none. */
static uint64_t place_of(const struct world *w, uint64_t attempt)
{
    uint64_t place = 0;
    const struct gw_message *put;
    for (size_t n = 0; (put = sent(w, GW_MESSAGE_board_put, n)); n++)
        for (uint32_t i = 0; i < put->board_put.attempt.count; i++)
            if (gw_col64_at(put->board_put.attempt, i) == attempt)
                place = gw_col64_at(put->board_put.place, i);
    return place;
}

/* What the scheduler was told that an attempt has made; 0: nothing yet. Never twice. */
static char told_value(const struct world *w, uint64_t attempt)
{
    char value = 0;
    const struct gw_message *message;
    for (size_t n = 0; (message = sent(w, GW_MESSAGE_finished, n)); n++) {
        const char *values = message->finished.values.data;
        for (uint32_t i = 0; i < message->finished.attempt.count; i++) {
            if (gw_col64_at(message->finished.attempt, i) == attempt) {
                assert_int_equal(value, 0);
                value = *values;
            }
            values += gw_col32_at(message->finished.value_size, i);
        }
    }
    return value;
}

static uint64_t told(const struct world *w, size_t n)
{
    const struct gw_message *finished = sent(w, GW_MESSAGE_finished, n);
    return finished ? gw_col64_at(finished->finished.attempt, 0) : 0;
}

static void test_sent(void **state)
{
    (void)state;
    struct world *w = world_ahead();
    uint64_t places[2];
    for (size_t i = 0; i < 2; i++) { /* each learns where to leave what it makes, first */
        const struct gw_message *put = sent(w, GW_MESSAGE_board_put, i);
        assert_non_null(sent(w, GW_MESSAGE_board, i));
        assert_int_equal(gw_col64_at(put->board_put.attempt, 0), 10 + i);
        places[i] = gw_col64_at(put->board_put.place, 0);
    }
    assert_int_not_equal(places[0], places[1]);
    for (size_t i = 0; i < 2; i++) {
        const struct gw_msg_assign *given = &sent(w, GW_MESSAGE_assign, 2 + i)->assign;
        assert_int_equal(gw_col64_at(given->attempt, 0), 12 + i);
        for (uint32_t d = 0; d < 2; d++) {
            assert_int_equal(gw_col32_at(given->dep_worker, d), GW_DEP_BOARD);
            assert_int_equal(gw_col64_at(given->dep_bytes, d), places[d]);
        }
    }
    free_world(w);
}

static void test_told_in_order(void **state)
{
    (void)state;
    struct world *w = world_ahead();
    forget_sent(w);
    assert_int_equal(finish(w, 1, 10, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(finish(w, 1, 12, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(told(w, 0), 10);
    assert_int_equal(told(w, 1), 0); /* 12 took what 11 made, which is not known yet */
    assert_int_equal(finish(w, 2, 11, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(told(w, 1), 11);
    assert_int_equal(told(w, 2), 12);
    forget_sent(w);
    struct gw_message skipped = {.type = GW_MESSAGE_skipped, .skipped = {13}};
    deliver(w, RUNNER + 2, skipped); /* all that it takes is here now */
    const struct gw_msg_assign *given = &must_send(w, GW_MESSAGE_assign)->assign;
    assert_int_equal(gw_col64_at(given->attempt, 0), 13);
    assert_int_equal(gw_col32_at(given->dep_value_size, 0), 1);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    free_world(w);
}

/* 11 was never told to have been made: what took it does not count. */
static void test_maker_dies(void **state)
{
    (void)state;
    struct world *w = world_ahead();
    assert_int_equal(finish(w, 1, 10, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(finish(w, 1, 12, GW_RANK_NONE, 20000, 1000), 0);
    forget_sent(w);
    uint64_t drops = w->drops;
    dies(w, 2, 0, 11);
    assert_int_equal(sent(w, GW_MESSAGE_ended, 0)->ended.attempt, 11);
    assert_int_equal(sent(w, GW_MESSAGE_ended, 0)->ended.outcome, GW_OUTCOME_CRASHED);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal(sent(w, GW_MESSAGE_ended, i)->ended.outcome, GW_OUTCOME_KILLED);
    assert_null(sent(w, GW_MESSAGE_finished, 0));
    assert_int_equal(w->drops, drops + 1); /* what 12 made */
    free_world(w);
}

/* 13 is cancelled in its runner's queue, and what it took does not count: it ends, and does not run
 * again. */
static void test_what_is_cancelled_does_not_come_back(void **state)
{
    const uint64_t attempts[] = {11, 13}, bytes[] = {1, 1}, run_ns[] = {1000, 1000};
    const uint32_t ranks[] = {GW_RANK_NONE, GW_RANK_NONE}, sizes[] = {1, 1};
    struct world *w = world_ahead();
    (void)state;
    deliver(w, GUARDIAN, /* and with it what 10 made, which 13 may have taken */
            (struct gw_message){.type = GW_MESSAGE_exited,
                                .exited = {.process = 1, .signal = 11, .executing = 12}});
    runner_closes(w, 1);
    bury(w, 1);
    assert_null(sent(w, GW_MESSAGE_ended, 0)); /* 12 waited for 11: all of it runs again */
    kill_attempt(w, 13, GW_KILL_CANCEL);
    forget_sent(w);
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){
        .attempt = {attempts, 2},
        .rank = {ranks, 2},
        .bytes = {bytes, 2},
        .value_size = {sizes, 2},
        .values = bin("bd", 2),
        .run_ns = {run_ns, 2},
    };
    assert_int_equal(deliver_with(w, RUNNER + 2, message, NULL, 0), 0);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 13);
    assert_int_equal(ended->outcome, GW_OUTCOME_KILLED);
    assert_int_equal(told_value(w, 13), 0);
    free_world(w);
}

/* The runner is gone, in 3, and 2, which was not told, is cancelled before that is judged. */
static void test_what_is_cancelled_as_its_runner_is_gone_does_not_come_back(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        must_assign(w, (struct task){.attempt = attempt});
    forget_sent(w);
    deliver(w, GUARDIAN,
            (struct gw_message){.type = GW_MESSAGE_exited,
                                .exited = {.process = 1, .signal = 11, .executing = 3}});
    kill_attempt(w, 2, GW_KILL_CANCEL);
    assert_null(sent(w, GW_MESSAGE_ended, 0)); /* its runner may still have told of it */
    bury(w, 1);
    runner_closes(w, 1);
    for (size_t i = 0; i < 2; i++) {
        const struct gw_message *ended = sent(w, GW_MESSAGE_ended, i);
        assert_non_null(ended);
        assert_int_equal(ended->ended.outcome,
                         ended->ended.attempt == 2 ? GW_OUTCOME_KILLED : GW_OUTCOME_CRASHED);
        assert_true(ended->ended.attempt == 2 || ended->ended.attempt == 3);
    }
    forget_sent(w);
    hello(w, 2, GW_PROTOCOL);
    const struct gw_msg_assign *given = &must_send(w, GW_MESSAGE_assign)->assign;
    assert_int_equal(given->attempt.count, 1);
    assert_int_equal(gw_col64_at(given->attempt, 0), 4);
    free_world(w);
}

/* Runner 1 has 10, 11, then 14, which takes 11 and 13, and 15 and 16, which take 14; runner 2 has
 * 12 and 13, and dies in 12, when what 13 made was on the board and 14 had taken it. So 13 runs
 * again, and makes something else: nobody may hear what 14, 15 and 16 made of the first. */
static void dies_before_it_told(uint32_t reported)
{
    struct world *w = world_idle();
    assign_rows(w, &(struct rows){.takes = {{0}, {0}, {0}, {0}, {11, 13}, {14}, {14}}, .count = 7});
    assert_int_equal(sending_of(w, 13).process, 2);
    assert_int_equal(sending_of(w, 14).process, 1);
    uint64_t first = place_of(w, 13);
    assert_int_not_equal(first, 0);
    assert_int_equal(sending_of(w, 14).bytes[1], first);
    for (uint64_t attempt = 15; attempt < 17; attempt++)
        assert_int_equal(sending_of(w, attempt).process, 1);
    made(w, 1, 10, 'a');
    made(w, 1, 11, 'b');
    for (uint64_t attempt = 14; attempt < 14 + reported; attempt++)
        made(w, 1, attempt, 'x');
    assert_int_equal(told_value(w, 11), 'b');
    assert_int_equal(told_value(w, 14), 0);
    dies(w, 2, 0, 11);
    assert_int_equal(sent(w, GW_MESSAGE_ended, 0)->ended.attempt, 12);
    assert_null(sent(w, GW_MESSAGE_ended, 1));
    for (uint64_t attempt = 14 + reported; attempt < 17; attempt++)
        made(w, 1, attempt, 'x'); /* it did not know */
    for (uint64_t attempt = 14; attempt < 17; attempt++)
        assert_int_equal(told_value(w, attempt), 0);
    assert_int_equal(sending_of(w, 13).process, 1);
    made(w, 1, 13, 'd');
    const struct sending again = sending_of(w, 14);
    assert_true(again.worker[1] == GW_DEP_HERE || again.value[1] == 'd');
    made(w, 1, 14, 'e');
    made(w, 1, 15, 'f');
    made(w, 1, 16, 'g');
    for (uint64_t attempt = 13; attempt < 17; attempt++)
        assert_int_equal(told_value(w, attempt), "defg"[attempt - 13]);
    assert_null(sent(w, GW_MESSAGE_ended, 1));
    free_world(w);
}

static void test_done_is_taken_back(void **state)
{
    (void)state;
    for (uint32_t reported = 0; reported <= 3; reported++)
        dies_before_it_told(reported);
}

/* What is sent a second time has another place: at the first one something may lie. */
static void test_no_place_twice(void **state)
{
    (void)state;
    struct world *w = world_idle();
    assign_rows(w, &(struct rows){.takes = {{0}, {0}, {10, 11}, {12, 11}}, .count = 4});
    assert_int_equal(sending_of(w, 12).process, 1);
    const struct sending taker = sending_of(w, 13);
    uint64_t first = place_of(w, 12);
    assert_int_equal(taker.process, 2);
    assert_int_equal(taker.worker[0], GW_DEP_BOARD);
    assert_int_equal(taker.bytes[0], first);
    assert_int_equal(taker.worker[1], GW_DEP_BOARD);
    assert_int_equal(taker.bytes[1], place_of(w, 11));
    made(w, 1, 10, 'a');
    deliver(w, RUNNER + 1, (struct gw_message){.type = GW_MESSAGE_skipped, .skipped = {12}});
    made(w, 2, 11, 'b');
    assert_int_equal(sending_of(w, 12).value[0], 'a');
    assert_int_equal(sending_of(w, 12).value[1], 'b');
    assert_int_not_equal(place_of(w, 12), first);
    struct dep later = {.job = 1, .maker = 12, .index = 12, .worker = GW_DEP_HERE};
    must_assign(w, (struct task){.attempt = 30, .index = 30, .dep = &later});
    assert_int_equal(sending_of(w, 30).worker[0], GW_DEP_BOARD);
    assert_int_equal(sending_of(w, 30).bytes[0], place_of(w, 12));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent),
        cmocka_unit_test(test_told_in_order),
        cmocka_unit_test(test_what_is_cancelled_does_not_come_back),
        cmocka_unit_test(test_what_is_cancelled_as_its_runner_is_gone_does_not_come_back),
        cmocka_unit_test(test_maker_dies),
        cmocka_unit_test(test_done_is_taken_back),
        cmocka_unit_test(test_no_place_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
